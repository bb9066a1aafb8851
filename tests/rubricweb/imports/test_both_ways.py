"""The browser and `import_collection` notice the same in every file, say it alike, and import the same."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from grading.formats import registry
from rubricweb.imports import contents
from rubricweb.imports.models import Import, ImportFile
from tests.grading.formats.samples import sample_files
from tests.rubricweb.imports.conftest import PAGE, worked
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

OPTIONS = {
    "queries": "--queries",
    "passages": "--passages",
    "responses": "--responses",
    "graded": "--graded",
    "nugget_grades": "--nugget-grades",
    "ratings": "--ratings",
    "flags": "--flags",
    "votes": "--votes",
    "battles": "--battles",
    "assignments": "--assignments",
    "support": "--support-labels",
    "banks": "--bank",
    "run_files": "--runs",
    "qrels": "--qrels",
    "official": "--official",
}
"""The option of the command for each field of `ImportFiles` that the browser fills."""
TOPICS = '{"n1": "What do bees collect?", "n2": "Why do leaves fall?"}'
PASSAGES = (
    '{"docid": "M\u00fcller-7", "segment": "Bees collect nectar."}\n'
    '{"docid": "d2", "segment": "Leaves fall."}\n'
)


def answered(*citations: object) -> str:
    answer = [{"text": "Bees do.", "citations": citations}]
    ids = {"run_id": "r", "topic_id": "n1", "topic": "bees", "references": ["doc-a", "doc-b"]}
    return json.dumps(ids | {"response_length": 2, "answer": answer}) + "\n"


# what is read, without a word
QUIET: dict[str, tuple[str, str, str]] = {
    "comments": ("a.run", "trec-run", "# by hand\nn1 Q0 d2 1 2 r\n"),
    "q0": ("q.txt", "trec-qrels", "n1 q0 d2 1\n"),
    "positions as text": ("a.jsonl", "rag24-responses", answered("0", "1")),
    "blank last lines": ("a.jsonl", "rag24-responses", answered(0) + "\n\n"),
}
# what is imported with a note
NOTED: dict[str, tuple[str, str, str, str]] = {
    "a row as a comment": (
        "a.run",
        "trec-run",
        "n1 Q0 d2 1 2 r\n#n1 Q0 d9 2 1 r\n",
        "a.run: skipped 1 lines that begin with #, as trec_eval 10 does, although",
    ),
    "rounds": (
        "rounds.txt",
        "trec-qrels",
        "n1 4.5 d2 2\nn1 5 d2 0\nn2 1 d2 0\n",
        "rounds.txt: column 2 differs (4.5, 5, 1), as of rounds or subtopics: it is not kept",
    ),
    "decomposed ids": (
        "nfd.run",
        "trec-run",
        "n1 Q0 Mu\u0308ller-7 1 2 nfd\nn1 Q0 d2 2 1 nfd\n",
        "invisible or composed characters: 'Mu\\u0308ller-7' is not 'M\\xfcller-7'",
    ),
    "invisible characters": (
        "zwsp.run",
        "trec-run",
        "n1 Q0 M\u00fcller-7 1 2 r\nn1 Q0 d2\u200b 2 1 r\n",
        "invisible or composed characters: 'd2\\u200b' is not 'd2'",
    ),
    "unknown ids": ("q.txt", "trec-qrels", "n1 0 d8 2\nn1 0 d2 1\n", "the collection lacks: 1 of 2 in q.txt"),
    "an invisible character in a topic": (
        "q.txt",
        "trec-qrels",
        "n1\u2060 0 d2 2\nn2 0 d2 1\n",
        "1 topics that the collection lacks ('n1\\u2060' looks like 'n1')",
    ),
    "passages that look alike": (
        "p.jsonl",
        "passages-jsonl",
        '{"id": "d2\u2060", "text": "Other."}\n{"id": "d9", "text": "More."}\n',
        "passages whose ids look alike and are not the same: 'd2\\u2060' and 'd2'",
    ),
    "topics with a header": (
        "t.tsv",
        "topics-tsv-header",
        "qid\tquery\nn3\tWhat do moths eat?\n",
        "t.tsv: the first line (qid, query) is a header and was skipped",
    ),
    "passages with a header": (
        "p.tsv",
        "passages-tsv-header",
        "docid\ttext\nd7\tMoths eat.\n",
        "p.tsv: the first line (docid, text) is a header and was skipped",
    ),
}
# what is asked: (file, formats to choose from, content, words)
ASKED: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "judgments": (
        "judged.run",
        ("trec-run",),
        "n1 Q0 d2 0 0.9 r\nn1 Q0 d3 4 0.5 r\nn1 Q0 d4 4 1 r\n",
        "the ranks are 0 to 4 and the scores lie between 0 and 1, as in the relevance judgments of TREC RAG",
    ),
    "equal ranks": (
        "a.run",
        ("trec-run",),
        "n1 Q0 d2 0 9 r\nn1 Q0 d3 0 8.5 r\n",
        "rank 0 stands more than once in topic n1, expected each rank once",
    ),
    "perhaps a header": (
        "t.tsv",
        ("topics-tsv", "topics-tsv-header", "passages-tsv", "passages-tsv-header"),
        "id\twhat people asked\n3\tWhat do moths eat?\n",
        "",
    ),
    "topics or passages": ("t.tsv", ("topics-tsv", "passages-tsv"), "3\tWhat do moths eat?\n", ""),
}
REFUSED: dict[str, tuple[str, str, bytes, str]] = {
    "a position that is none": (
        "a.jsonl",
        "rag24-responses",
        answered("0", "doc-b").encode(),
        "(sentence 1) hold '0', which is in no reference, beside others",
    ),
    "one response on many lines": (
        "a.json",
        "rag24-responses",
        json.dumps(json.loads(answered(0)), indent=1).encode(),
        "a response that is written on several lines, expected one response a line",
    ),
    "UTF-16": (
        "q.txt",
        "trec-qrels",
        "n1 0 d2 1\n".encode("utf-16"),
        "the file is in UTF-16, as PowerShell writes it: save the file as UTF-8",
    ),
    "old line ends": ("q.txt", "trec-qrels", b"n1 0 d2 1\rn1 0 d3 1\r", "in a carriage return alone"),
}


class Both:
    """A file imported in the browser into autumn, and by the command into spring, which began alike."""

    def __init__(self, upload, client, folder: Path) -> None:
        self._upload, self._client, self._folder = upload, client, folder
        topics, passages = self._written("t.json", TOPICS.encode()), self._written("p", PASSAGES.encode())
        for slug in ("autumn", "spring"):
            self._call(slug, "--queries", topics, "--passages", passages)

    def check(self, name: str, content: bytes) -> tuple[Import, ImportFile]:
        batch = self._upload({name: content})
        return batch, batch.files.get()

    def choose(self, batch: Import, format_name: str) -> tuple[Import, ImportFile]:
        self._client.post(f"{PAGE}{batch.pk}/files/{batch.files.get().pk}/", {"format": format_name})
        batch = worked(batch)
        return batch, batch.files.get()

    def name_author(self, batch: Import, author: str) -> tuple[Import, ImportFile]:
        self._client.post(
            f"{PAGE}{batch.pk}/files/{batch.files.get().pk}/", {"deed": "author", "author": author}
        )
        batch = worked(batch)
        return batch, batch.files.get()

    def start(self, batch: Import) -> Import:
        self._client.post(f"{PAGE}{batch.pk}/start/", {"bank_name": "main"})
        return worked(batch)

    def page(self, batch: Import) -> str:
        return html.unescape(" ".join(markup(self._client.get(f"{PAGE}{batch.pk}/")).split()))

    def command(self, name: str, content: bytes, format_name: str, *arguments: str) -> dict[str, Any]:
        """Import by the command, with the option of the format's content."""
        field = contents.TAKEN[registry.find(format_name).content].field
        path = self._written(f"files/{name}", content)
        given = path.parent if field == "run_files" else path
        return self._call("spring", OPTIONS[field], given, *arguments)

    def refusal(self, *arguments: Any) -> str:
        with pytest.raises(CommandError) as refused:
            self.command(*arguments)
        return str(refused.value)

    def imported(self, batch: Import, content: bytes, *arguments: str) -> list[str]:
        """Import what was checked both ways; return what was noted."""
        file = batch.files.get()
        page = self.page(batch)
        assert all(note.removeprefix(f"{file.name}: ") in page for note in batch.notes)
        document = self.command(file.name, content, file.format, *arguments)
        made = self.start(batch)
        assert made.is_imported, made.problem
        assert made.notes == document["notes"]
        assert any("trec_eval 9's order" in note for note in made.notes) == bool(document["trec_eval_order"])
        assert made.counts == document["counts"]
        assert batch.notes == made.notes
        return made.notes

    def _written(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def _call(self, slug: str, *arguments: object) -> dict[str, Any]:
        out = io.StringIO()
        call_command("import_collection", slug, *map(str, arguments), "--json", stdout=out)
        document: dict[str, Any] = json.loads(out.getvalue())
        return document


@pytest.fixture
def both(upload, client, collection, tmp_path) -> Both:
    return Both(upload, client, tmp_path)


def test_the_command_has_an_option_for_all_that_the_browser_takes():
    assert OPTIONS.keys() == {taken.field for taken in contents.TAKEN.values()}


@pytest.mark.parametrize("case", QUIET)
def test_import_of_a_plain_file_says_nothing(case, both):
    name, format_name, content = QUIET[case]
    batch, file = both.check(name, content.encode())
    assert (file.format, file.problem, batch.problem) == (format_name, "", "")
    notes = both.imported(batch, content.encode())
    assert [note for note in notes if not note.startswith("passages that the collection lacks")] == []


@pytest.mark.parametrize("case", NOTED)
def test_import_notes_what_looks_odd(case, both):
    name, format_name, content, expected = NOTED[case]
    batch, file = both.check(name, content.encode())
    assert (file.format, file.problem, batch.problem) == (format_name, "", "")
    assert any(expected in note for note in both.imported(batch, content.encode()))


@pytest.mark.parametrize("case", ASKED)
def test_import_asks_about_what_may_be_something_else(case, both):
    name, formats, text, expected = ASKED[case]
    content = text.encode()
    batch, file = both.check(name, content)
    assert (file.format, tuple(file.fitting_formats)) == ("", formats)
    page = both.page(batch)
    assert "Choose the format of 1 file. Nothing is imported yet." in page
    assert expected in page
    assert all(
        f'value="{candidate}">{registry.find(candidate).label}</button>' in page for candidate in formats
    )
    first = registry.find(formats[0])
    alike = [candidate for candidate in formats if registry.find(candidate).content is first.content]
    if len(alike) == len(formats) or len(alike) > 1:
        refusal = both.refusal(name, content, first.name)
        assert expected in refusal
        assert all(f"--read-as {name}={candidate}" in refusal for candidate in alike)
    batch, file = both.choose(batch, first.name)
    assert (file.format, file.problem) == (first.name, "")
    both.imported(batch, content, "--read-as", f"{name}={first.name}")


@pytest.mark.parametrize("case", REFUSED)
def test_import_refuses_what_cannot_be_read(case, both):
    name, format_name, content, expected = REFUSED[case]
    batch, file = both.check(name, content)
    assert expected in file.problem
    assert file.problem in both.page(batch)
    assert f"{name}:{file.problem_line}: {file.problem}" in both.refusal(name, content, format_name)


@pytest.mark.parametrize("path", sample_files(), ids=lambda path: path.name)
def test_import_of_a_sample_is_alike_both_ways(path, both):
    content, arguments = path.read_bytes(), ()
    batch, file = both.check(path.name, content)
    taken = [
        file_format
        for file_format in map(registry.find, file.fitting_formats)
        if file_format.content in contents.TAKEN
    ]
    if taken:
        batch, file = both.choose(batch, taken[0].name)
        arguments = ("--read-as", f"{path.name}={taken[0].name}")
    if "assessments without an author" in (file.problem or batch.problem):
        batch, file = both.name_author(batch, "people")
        arguments = ("--by", "people")
    if not (problem := file.problem or batch.problem):
        both.imported(batch, content, *arguments)
    elif file.format and registry.find(file.format).content in contents.TAKEN:
        assert problem in both.refusal(path.name, content, file.format, *arguments)


def test_choice_is_made_for_all_files_with_the_same_question(upload, client):
    runs = {f"{tag}.run": f"n1 Q0 d2 0 9 {tag}\nn1 Q0 d3 0 8 {tag}\n" for tag in ("a", "b", "c")}
    judged = "n1 Q0 d2 0 0.9 r\nn1 Q0 d3 4 0.5 r\nn1 Q0 d4 4 1 r\n"
    batch = upload(runs | {"topics.json": TOPICS, "judged.run": judged})
    assert "also the other 2 files with this question" in markup(client.get(f"{PAGE}{batch.pk}/"))
    first = batch.files.get(name="a.run")
    client.post(f"{PAGE}{batch.pk}/files/{first.pk}/", {"format": "trec-run", "alike": "on"})
    batch = worked(batch)
    assert {file.chosen_format for file in batch.files.filter(name__in=runs)} == {"trec-run"}
    assert {file.chosen_format for file in batch.files.exclude(name__in=runs)} == {""}
    assert batch.files.get(name="judged.run").fitting_formats == ["trec-run"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("b.run=trec-run", "no file is named b.run, expected NAME=FORMAT"),
        ("a.run", "no format 'a.run', expected"),
        ("a.run=trec-qrels", "a.run: read as TREC qrels, which is no run"),
    ],
)
def test_read_as_refuses_what_cannot_be_meant(given, expected, both):
    assert expected in both.refusal("a.run", b"n1 Q0 d2 1 9 r\n", "trec-run", "--read-as", given)


def test_read_as_takes_a_pattern_for_all_its_files(both):
    content = b"n1 Q0 d2 0 9 r\nn1 Q0 d3 0 8 r\n"
    document = both.command("a[1].run", content, "trec-run", "--read-as", "*.run=trec-run")
    assert document["counts"]["runs"]["new"] == 1
    assert both.command("a[1].run", content, "trec-run", "--read-as", "a[1].run=trec-run")["changed"] is False
