"""From a track's files to a board: topics, responses and questions in, graded by a worker, ranked."""

import pytest

from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Collection, Run
from rubricweb.grades import actions
from rubricweb.grades.configs import active_configs
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.raters import KINDS
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, selectors
from tests.rubricweb.import_files import Folder, bank_line, response
from tests.rubricweb.jobs.workers import wait_until, workers

TIDES = ("What makes the tides rise?", "Which body pulls the tides?")
BEES = ("Why do bees dance?",)
GOOD, BAD = "The moon pulls the tides and makes the tides rise.", "A recipe for apple pie."
DANCE = "Bees dance because dancing tells where food is: that is why bees dance."


@pytest.fixture
def start_worker(transactional_db, database_url, redis_server, tmp_path):
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


@pytest.fixture
def track(transactional_db, tmp_path) -> Collection:
    folder = Folder(tmp_path)
    runs = [
        [response("thorough", "2025-1", BAD, GOOD), response("thorough", "2025-2", DANCE)],
        [response("partial", "2025-1", GOOD), response("partial", "2025-2", BAD)],
        [response("astray", "2025-1", BAD)],
    ]
    for number, lines in enumerate(runs):
        folder.lines(f"runs/run{number}.jsonl", *lines)
    folder.load(
        *("--queries", folder.write("topics.tsv", "2025-1\thow do tides work\n2025-2\twhy do bees dance\n")),
        *("--responses", folder.path / "runs"),
        *(
            "--bank",
            folder.lines("bank.jsonl", bank_line(*TIDES, query_id="2025-1", query_text="how do tides work")),
        ),
        *(
            "--bank",
            folder.lines("more.jsonl", bank_line(*BEES, query_id="2025-2", query_text="why do bees dance")),
        ),
        slug="rag25",
    )
    return Collection.objects.get(slug="rag25")


def test_a_track_gets_its_board(track, start_worker):
    start_worker(lease_seconds=60)
    (job,) = actions.start_grading(track, by=None)
    wait_until(lambda: GradingJob.objects.get(pk=job.pk).has_ended, what="the job to end")
    assert Grade.objects.count() == 2 * 2 + 1 * 2, "equal texts of several runs are graded once"

    (config,) = active_configs(track)
    spec = BoardSpec(track, config, track.banks.get(), frozenset(KINDS), MeasureSpec(cutoff=20))
    scores = {row.run_tag: (row.score, row.n_answered) for row in selectors.board(spec).rows}
    assert scores == {"thorough": (1.0, 2), "partial": (0.5, 2), "astray": (0.0, 1)}

    withdraw_run(Run.objects.get(run_tag="thorough"), by=None)
    assert [row.run_tag for row in selectors.board(spec).rows] == ["partial", "astray"]
