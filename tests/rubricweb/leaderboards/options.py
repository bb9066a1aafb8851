"""Options of boards under which the pages behind them are compared with the board itself."""

from grading.topic_attributes import TopicSlice
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.leaderboards.board import MissingTopic

OPTIONS = {
    "none": {},
    "corrected": {"source": RatingSource.CORRECTED},
    "people": {"source": RatingSource.HUMANS},
    "skip": {"missing": MissingTopic.SKIP},
    "subtopics": {"by_subtopic": True},
    "topic": {"topic": "t1"},
    "subtopics of a topic": {"topic": "t1", "by_subtopic": True},
    "subtopic": {"topic": "t1", "facet": "a"},
    "slice": {"topic_slice": TopicSlice("kind", "what", "kind = what", frozenset({"t1", "t3"}), 3)},
    "several": {"source": RatingSource.CORRECTED, "missing": MissingTopic.SKIP, "by_subtopic": True},
}
