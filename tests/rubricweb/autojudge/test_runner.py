"""The judge under the track's own runner, once with a model and once with its replies alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("minima_llm")

import rubricweb.autojudge
from grading.formats.banks import read_bank
from grading.formats.leaderboards import FORMATS, LeaderboardRow
from grading.formats.nugget_grades import read_nugget_grades
from tests.grading.servers.http import Server
from tests.rubricweb.autojudge.kiddie import RUNS, TOPICS, model_server, write_collection

ROOT = Path(__file__).resolve().parents[3]
WORKFLOW = Path(rubricweb.autojudge.__file__).with_name("workflow.yml")
VARIANTS = ("nuggets", "strict", "weighed", "documents")
THRESHOLDS = "thresholds"


@dataclass
class Bench:
    """A folder with the collection, the cache and what was judged, and a model server that has ended."""

    folder: Path
    environment: dict[str, str]
    server: Server

    def judge(self, url: str, out: str, *options: str) -> Path:
        """Run the judge and return the folder of its files."""
        named = {"--rag-responses": "runs", "--rag-topics": "topics.jsonl", "--out-dir": out}
        paths = [word for option, path in named.items() for word in (option, str(self.folder / path))]
        environment = {
            **self.environment,
            "OPENAI_BASE_URL": url,
            "OPENAI_MODEL": "stub",
            "OPENAI_API_KEY": "k",
            "CACHE_DIR": str(self.folder / "cache"),
        }
        self.command("auto-judge", "run", "-w", str(WORKFLOW), *paths, *options, environment=environment)
        return self.folder / out

    def command(self, name: str, *words: str, environment: dict[str, str] | None = None) -> str:
        """Run a console script of this environment and return what it prints."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name(name)), *words],
            env=environment or self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Judged once, with every variant. `out` has the files."""
    folder = tmp_path_factory.mktemp("kiddie")
    # The track's package reads these while it is imported, and would fetch them.
    (folder / "nltk/tokenizers/punkt").mkdir(parents=True)
    (folder / "nltk/corpora/stopwords").mkdir(parents=True)
    (folder / "nltk/corpora/stopwords/english").write_text("the\nof\n", encoding="utf-8")
    write_collection(folder)
    environment = {**os.environ, "NLTK_DATA": str(folder / "nltk"), "PYTHONPATH": str(ROOT)}
    with model_server() as server:
        made = Bench(folder, environment, server)
        made.judge(server.url, "out", "--all-variants")
    return made


def rows_of(path: Path) -> list[LeaderboardRow]:
    ir_measures = next(known for known in FORMATS if known.name == "leaderboard-ir_measures")
    return list(ir_measures.read(path))


def test_it_asks_the_model_of_the_environment_and_nothing_twice(bench: Bench) -> None:
    assert {body["model"] for body in bench.server.asked} == {"stub"}
    assert set(bench.server.keys) == {"Bearer k"}
    assert {body["temperature"] for body in bench.server.asked} == {0}
    assert len(bench.server.prompts()) == len(set(bench.server.prompts()))


def test_every_run_is_judged_on_every_topic(bench: Bench) -> None:
    for name in VARIANTS:
        rows = rows_of(bench.folder / "out" / f"{name}.eval.txt")
        judged = {(row.run_tag, row.query_id) for row in rows if row.measure == "NUGGET_COVERAGE"}
        assert judged == {(run, topic) for run in RUNS for topic in (*TOPICS, "all")}
    values = {row.value for row in rows if row.measure == "NUGGET_COVERAGE"}
    assert len(values) > 2, "the replies differ"


def test_its_banks_and_grades_are_files_that_we_read(bench: Bench) -> None:
    out = bench.folder / "out"
    for name, kind in (("nuggets", "nugget"), ("strict", "question")):
        lines = read_bank(out / f"{name}.nuggets.jsonl")[1]
        assert [line.query_id for line in lines] == [*TOPICS]
        assert [line.query_text for line in lines] == [title for title, _ in TOPICS.values()]
        assert {item.kind for line in lines for item in line.items} == {kind}
        grades = list(read_nugget_grades(out / f"{name}.nugget-grades.jsonl"))
        drafted = {item.text for line in lines for item in line.items}
        assert {grade.question for grade in grades} == drafted
    weights = [item.importance for line in read_bank(out / "weighed.nuggets.jsonl")[1] for item in line.items]
    assert weights == ["vital", "okay", "okay"] * len(TOPICS)
    documents = list(read_nugget_grades(out / "documents.nugget-grades.jsonl"))
    assert {(grade.doc_id, grade.paragraph) for grade in documents if grade.query_id == "tides"} == {
        ("", None),
        ("tides-1", 0),
        ("tides-1", 1),
    }


def test_with_the_model_switched_off_it_writes_the_same_files(bench: Bench) -> None:
    again = bench.judge("EMPTY", "again", "--all-variants")
    files = sorted(path.name for path in (bench.folder / "out").iterdir())
    assert files == sorted(path.name for path in again.iterdir())
    for name in files:
        first, second = (folder / name for folder in (bench.folder / "out", again))
        if name.endswith(".config.yml"):  # the runner's own: it has the time
            first_words, second_words = (
                re.sub(r"timestamp: .*", "", path.read_text()) for path in (first, second)
            )
            assert first_words == second_words
        else:
            assert first.read_bytes() == second.read_bytes(), name


def test_a_sweep_asks_nothing_new_and_a_higher_threshold_covers_less(bench: Bench) -> None:
    out = bench.judge("EMPTY", "sweep", "--sweep", THRESHOLDS)
    boards = sorted(out.glob("*.eval.txt"))
    covered = []
    for path in boards:
        rows = rows_of(path)
        covered.append(sum(row.value for row in rows if row.measure == "COVERED_COUNT"))
    assert len(covered) == 3
    assert covered == sorted(covered, reverse=True)
    assert covered[0] > covered[-1]


def test_a_bank_that_is_given_is_the_one_that_is_graded(bench: Bench) -> None:
    given = str(bench.folder / "out" / "strict.nuggets.jsonl")
    off = ("--no-create-nuggets", "--no-create-qrels")
    out = bench.judge(
        "EMPTY", "given", "--nugget-banks", given, *off, "--variant", "strict", "--augment-report"
    )
    name = "strict.eval.txt"
    assert (out / name).read_bytes() == (bench.folder / "out" / name).read_bytes()
    assert '"rubricweb":{"grades":{' in (out / "strict.responses.jsonl").read_text(encoding="utf-8")


def test_the_organizers_programs_accept_its_files(bench: Bench) -> None:
    truth = (
        "--truth-leaderboard",
        "truth.txt",
        "--truth-format",
        "ir_measures",
        "--truth-measure",
        "RELEVANCE",
    )
    judged = ("--eval-format", "ir_measures", "--eval-measure", "NUGGET_COVERAGE", "out/strict.eval.txt")
    table = bench.command("auto-judge-evaluate", "meta-evaluate", *truth, *judged, "--correlation", "kendall")
    assert re.search(r"strict\.eval\s+RELEVANCE\s+NUGGET_COVERAGE\s+-?[01]\.\d", table), table
    labels = [
        f"--{side}-qrels=out/{name}.qrels.txt" for side, name in (("truth", "nuggets"), ("predict", "strict"))
    ]
    sizes = ("--truth-max-grade=5", "--predict-max-grade=5")
    assert "kappa" in bench.command("auto-judge-evaluate", "qrel-evaluate", *labels, *sizes).lower()
