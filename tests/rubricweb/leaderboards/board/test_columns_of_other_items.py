"""A column by another grader is scored over the items that this grader grades, as its own board is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grading.types import ItemKind, Outcome, Purpose
from rubricweb.banks.models import DIRECT_UID, ItemRevision
from rubricweb.banks.versions import name_version
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import default_min_grade, imported_config, kinds_of
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.grades.store import save_grades
from rubricweb.leaderboards.board import BoardError, BoardSpec, MissingTopic, files, lookup, selectors
from tests.factories import BankFactory, ItemFactory

pytestmark = pytest.mark.portable

RATES, RATES_NUGGETS = "QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt"
GRADERS = {
    "questions": (RATES, Purpose.RATE, "main"),
    "nuggets": (RATES_NUGGETS, Purpose.RATE, "main"),
    "verdicts": ("QuestionCompleteConcisePromptWithAnswerKey2", Purpose.VERIFY, "main"),
    "questions of another bank": (f"{RATES}2", Purpose.RATE, "other"),
    "labels": ("FagB", Purpose.DIRECT, ""),
}
PAIRS = [(own, other) for own in GRADERS for other in GRADERS if own != other]
SCOPES = {
    "all topics": {},
    "one topic": {"topic": "t1"},
    "topics skipped": {"missing": MissingTopic.SKIP},
    "by subtopic": {"by_subtopic": True},
    "one topic by subtopic": {"topic": "t1", "by_subtopic": True},
}


@pytest.fixture
def graders(made) -> dict[str, GraderConfig]:
    """One of each purpose; each grades another set of items of t1 and t2, differently."""
    other = BankFactory(collection=made.collection, name="other")
    for query_id in ("t1", "t2"):
        topic = made.topics[query_id]
        for number in range(3):
            text, facet = f"Nugget {number} of {query_id}", ("colour", "season")[number % 2]
            ItemFactory(bank=made.bank, topic=topic, kind="nugget", text=text, facet_id=facet)
        ItemFactory(bank=other, topic=topic, text=f"Which frost kills leaves of {query_id}?")
        for place, item in enumerate(made.items[query_id]):
            made.bank.all_items.filter(pk=item.pk).update(facet_id=("colour", "season")[place])
    made.collection.banks.update(collection=made.collection)
    return {name: _graded(made, number, *grader) for number, (name, grader) in enumerate(GRADERS.items())}


def _graded(made, salt: int, prompt_class: str, purpose: Purpose, bank: str) -> GraderConfig:
    config = imported_config(f"model-{salt}", prompt_class, purpose)
    for query_id in ("t1", "t2"):
        topic = made.topics[query_id]
        items = made.collection.banks.get(name=bank).items.filter(topic=topic) if bank else ()
        revisions = [item.revision for item in items if ItemKind(item.kind) in kinds_of(config)]
        if not bank:
            revisions = [ItemRevision.objects.create(topic=topic, uid=DIRECT_UID)]
        cells = [(revision, pooled.passage) for revision in revisions for pooled in topic.pool.all()]
        highest = 6 if purpose is Purpose.RATE else 2
        rows = [
            Grade(
                config=config,
                topic=topic,
                revision=revision,
                passage=passage,
                rating=(7 * number + 5 * salt + number // 2) % highest,
                outcome=Outcome.NUMERIC,
            )
            for number, (revision, passage) in enumerate(cells)
        ]
        save_grades(config, rows)
    return config


def board_spec(collection: Collection, config: GraderConfig, name: str = "", **scope) -> BoardSpec:
    bank = next(iter(banks_graded_by(config, collection)), None)
    name = name or ("P_1" if bank is None else "rubric_cover")
    measure = MeasureSpec(name, min_grade=default_min_grade(config))
    return BoardSpec(collection, config, bank, kinds_of(config), measure, **scope)


def scores(spec: BoardSpec) -> dict[str, tuple[float | None, float | None, int]]:
    return {row.run_tag: (row.score, row.stderr, row.n_topics) for row in selectors.board(spec).rows}


def column_scores(spec: BoardSpec) -> dict[str, tuple[float | None, float | None, int]]:
    rows = selectors.board(spec).rows
    return {row.run_tag: (row.others[0].score, row.others[0].stderr, row.others[0].n_topics) for row in rows}


@pytest.mark.parametrize(("own", "other"), PAIRS)
def test_column_equals_the_board_of_its_grader(made, graders, own, other):
    """For each pair of graders and each scope, in the table and in the file of single scores."""
    for name, scope in SCOPES.items():
        alone = board_spec(made.collection, graders[other], **scope)
        token = f"grader-{graders[other].pk}/{alone.measure.name}"
        spec = lookup.with_columns(board_spec(made.collection, graders[own], **scope), token)
        expected = scores(alone)
        assert column_scores(spec) == expected, name
        means = {
            row.run_tag: row.value
            for row in files.value_rows(spec)
            if (row.query_id, row.measure) == ("all", token)
        }
        assert means == {tag: score for tag, (score, *_) in expected.items() if score is not None}, name


def test_column_of_labels_made_of_other_items_is_scored(made, graders):
    """Labels made of nuggets beside a board of questions: qrels columns were void."""
    alone = board_spec(made.collection, graders["nuggets"], "P_1")
    spec = board_spec(made.collection, graders["questions"])
    assert column_scores(lookup.with_columns(spec, f"grader-{graders['nuggets'].pk}/P_1")) == scores(alone)


def test_column_of_a_version_is_scored_over_the_version(made, graders, owner):
    """An item that is retired since still counts in the version, of whichever kind."""
    version = name_version(made.bank, name="First", by=owner)
    made.bank.items.filter(kind="nugget", topic=made.topics["t1"]).update(retired_at=version.at)
    then = board_spec(made.collection, graders["nuggets"])
    expected = scores(replace(then, version=version))
    assert expected != scores(then)
    spec = replace(board_spec(made.collection, graders["questions"]), version=version)
    assert (
        column_scores(lookup.with_columns(spec, f"grader-{graders['nuggets'].pk}/rubric_cover")) == expected
    )


def test_column_names_the_items_it_is_scored_over(made, graders):
    """In its label, in what the board states, and in files; not where they are the board's own."""
    config = {name: grader.pk for name, grader in graders.items()}
    words = ",".join(
        f"grader-{config[name]}/{measure}"
        for name, measure in (
            ("nuggets", "cover-4"),
            ("labels", "P_1"),
            ("questions of another bank", "cover-4"),
            ("verdicts", "cover-1"),
        )
    )
    spec = lookup.with_columns(board_spec(made.collection, graders["questions"]), words)
    labels = [column.label for column in spec.columns]
    assert [label.partition(" by ")[0] for label in labels] == [
        "Rubric-Cover@20 of nuggets",
        "P_1 of direct labels",
        "Rubric-Cover@20 of questions of rubric other",
        "Rubric-Cover@20",
    ]
    board = selectors.board(spec)
    listed = json.loads("\n".join(files.document_lines(board)))["columns"]
    assert [(column["items"], column["bank"]) for column in listed] == [
        ("nuggets", "main"),
        ("direct labels", None),
        ("questions", "other"),
        ("questions", "main"),
    ]
    for lines in (files.tsv_lines(board), files.tex_lines(board)):
        text = "\n".join(lines)
        assert "over nuggets of rubric main" in text
        assert "over direct labels" in text


def test_column_of_items_that_no_bank_has_is_refused(made, graders):
    """A sentence instead of a column of zeros."""
    made.bank.items.filter(kind="nugget").delete()
    with pytest.raises(BoardError, match="has no grades of items that any rubric has now"):
        lookup.with_columns(
            board_spec(made.collection, graders["questions"]), f"grader-{graders['nuggets'].pk}/cover-4"
        )
