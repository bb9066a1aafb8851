"""Import files into the corpus, line by line: topics, passages and pools, judgments, runs, responses,
official scores.

Each importer adds what is new, leaves what is the same, refuses what contradicts, and counts all three in a
Tally. They are steps of one transaction, opened by `grades.importers.collection`.
"""

from rubricweb.corpus.importers.doc_ids import DocIdCheck
from rubricweb.corpus.importers.judgments import JudgmentImporter, SeveralJudgments
from rubricweb.corpus.importers.official import OfficialFile, import_official
from rubricweb.corpus.importers.passage_files import PassageFileImporter
from rubricweb.corpus.importers.passages import PassageImporter
from rubricweb.corpus.importers.positions import FilePosition, fitting, fitting_id, fitting_name
from rubricweb.corpus.importers.responses import ResponseImporter
from rubricweb.corpus.importers.runs import RunImporter
from rubricweb.corpus.importers.tally import Counts, Tally
from rubricweb.corpus.importers.topics import TopicImporter

__all__ = [
    "Counts",
    "DocIdCheck",
    "FilePosition",
    "JudgmentImporter",
    "OfficialFile",
    "PassageFileImporter",
    "PassageImporter",
    "ResponseImporter",
    "RunImporter",
    "SeveralJudgments",
    "Tally",
    "TopicImporter",
    "fitting",
    "fitting_id",
    "fitting_name",
    "import_official",
]
