"""Labels in files: by hand, and scored by pytrec_eval from the files alone."""

import random
from dataclasses import replace

import numpy as np
import pytest
import pytrec_eval

from grading.formats.trec import qrels_lines, write_qrels, write_run
from grading.measures.cover import LabelMode
from grading.statistics.calibrated_labels import LabelMaps
from grading.types import ItemKind
from rubricweb.banks.actions import retire_item
from rubricweb.core.models import new_stamp
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Passage, Ranking
from rubricweb.exports import boards
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.selectors import board
from tests.rubricweb.grades.test_scoring import scattered

pytestmark = pytest.mark.portable

QUESTIONS = frozenset({ItemKind.QUESTION})
BY_LABELS = MeasureSpec("ndcg_cut_10")
MEASURES = ("ndcg_cut_10", "P_20", "map", "recip_rank", "Rprec")


def spec_of(made, measure=BY_LABELS):
    return BoardSpec(made.collection, made.config, made.bank, QUESTIONS, measure)


def lines(made, measure=BY_LABELS):
    return list(qrels_lines(boards.qrels(spec_of(made, measure))))


def test_lines_are_in_the_collections_order(made):
    assert lines(made) == ["t1 0 d1 5", "t1 0 d2 4", "t1 0 d3 3", "t2 0 e1 2", "t2 0 e2 4"]


def test_zero_is_written_and_ungraded_is_left_out(made):
    Grade.objects.filter(passage=made.passages["e1"]).update(rating=0)
    Grade.objects.filter(passage=made.passages["e2"]).delete()

    assert lines(made)[3:] == ["t2 0 e1 0"]


def test_a_preview_follows_the_grades(made):
    """What it says of a topic is kept with the topic's grades."""
    spec, place = spec_of(made), {"passage": made.passages["d3"], "revision": made.items["t1"][1].revision}
    kept = boards.qrels_summary(spec)
    assert kept.losses[0] == "topic t1, passage d3: that its label stands on 1 of 2 items"
    assert boards.qrels_summary(spec) == kept
    Grade.objects.filter(**place).update(rating=5, outcome="numeric")
    MatrixStamp.objects.filter(config=made.config, topic=made.topics["t1"]).update(number=new_stamp())
    after = boards.qrels_summary(spec)
    assert [loss for loss in after.losses if "topic t1" in loss] == []
    assert (dict(kept.by_label), dict(after.by_label)) == ({5: 1, 4: 2, 3: 1, 2: 1}, {5: 2, 4: 2, 2: 1})


@pytest.mark.parametrize(
    ("measure", "found"),
    [
        (MeasureSpec("map", mode=LabelMode.BINARY), [1, 1, 0, 0, 1]),
        (MeasureSpec("map", min_grade=3, mode=LabelMode.COUNT), [1, 1, 1, 0, 1]),
        (MeasureSpec("map", min_answers=2), [0, 0, 0, 0, 0]),
    ],
)
def test_modes_by_hand(made, measure, found):
    assert [int(line.split()[3]) for line in lines(made, measure)] == found


def of(made, **options) -> list[str]:
    measure = options.pop("measure", BY_LABELS)
    labels = boards.qrels(replace(spec_of(made, measure), **options))
    return list(qrels_lines(labels))


def test_people_correct_the_labels(made, assessor):
    cell = Cell.of(made.items["t1"][0], made.passages["d1"])
    rate_cell(cell, rating=2, by=assessor, seen=0)

    assert of(made, source=RatingSource.CORRECTED)[:2] == ["t1 0 d1 2", "t1 0 d2 4"]
    assert of(made, source=RatingSource.HUMANS) == ["t1 0 d1 2"]


def test_each_subtopic_has_an_id_of_its_own(made):
    """Which pigment? is of subtopic a, When? of none: d1 has 5 and 0, d2 0 and 4, d3 3 and a failure."""
    item = made.items["t1"][0]
    item.facet_id = "a"
    item.save()

    assert of(made, by_subtopic=True) == [
        *("t1/a 0 d1 5", "t1/a 0 d2 0", "t1/a 0 d3 3"),
        *("t1 0 d1 0", "t1 0 d2 4"),
        *("t2 0 e1 2", "t2 0 e2 4"),
    ]
    summary = boards.qrels_summary(replace(spec_of(made), by_subtopic=True))
    assert (summary.lines, summary.topics, summary.topics_without, summary.unlabelled) == (7, 2, 1, 1)


def test_the_workbench_takes_every_item_that_was_rated(made, developer):
    retire_item(made.items["t1"][0], seen=1, by=developer)
    workbench = replace(BY_LABELS, definition=Definition.WORKBENCH)

    assert of(made)[:2] == ["t1 0 d1 0", "t1 0 d2 4"]
    assert of(made, measure=workbench)[:3] == ["t1 0 d1 5", "t1 0 d2 4", "t1 0 d3 3"]


def test_the_summary_counts_lines_by_label(made):
    summary = boards.qrels_summary(spec_of(made))

    assert (summary.lines, summary.topics, summary.topics_without, summary.unlabelled) == (5, 2, 1, 1)
    assert summary.by_label == ((5, 1), (4, 2), (3, 1), (2, 1))
    assert summary.first[0] == "t1 0 d1 5"


def test_what_the_file_does_not_say_is_listed_by_passage(made):
    Grade.objects.filter(passage=made.passages["e1"]).delete()
    Passage.objects.filter(pk=made.passages["e2"].pk).update(doc_id="e 2")
    Collection.objects.update(stamp=new_stamp())

    assert boards.qrels_losses(spec_of(made)) == [
        "topic t1, passage d3: that its label stands on 1 of 2 items",
        "topic t2, passage e1: no line, it has no grade",
        "topic t2, passage e 2: cannot be written, the id is not one word",
        "topic t3: no line, none of its pooled passages (1) has a grade",
    ]
    Grade.objects.all().delete()
    MatrixStamp.objects.update(number=new_stamp())
    assert boards.qrels_losses(spec_of(made)) == [
        "topic t1: no line, none of its pooled passages (3) has a grade",
        "topic t2: no line, none of its pooled passages (2) has a grade",
        "topic t3: no line, none of its pooled passages (1) has a grade",
    ]


def test_file_names_say_what_is_inside(made):
    made.config.llm = "google/flan-t5 large"
    binary = spec_of(made, MeasureSpec("map", mode=LabelMode.BINARY, min_answers=2))

    assert boards.qrels_name(spec_of(made)) == "autumn_google-flan-t5-large_LexicalBaseline_main_max.qrels"
    assert boards.qrels_name(binary) == "autumn_google-flan-t5-large_LexicalBaseline_main_binary4_m2.qrels"
    assert boards.leaderboard_name(spec_of(made, MeasureSpec())) == (
        "autumn_google-flan-t5-large_LexicalBaseline_main_Rubric-Cover@20_t4.tsv"
    )


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("mode", list(LabelMode))
def test_the_board_is_what_trec_eval_makes_of_the_files(collection, tmp_path, name, mode):
    """-c: topics that have qrels count, and a topic that a run lacks counts 0."""
    made = scattered(collection, random.Random(name + mode))
    maps = LabelMaps((0, 0, 1, 2, 4, 4)) if mode is LabelMode.CALIBRATED else None
    measure = MeasureSpec(name, mode=mode, label_maps=maps)
    write_qrels(tmp_path / "rubric.qrels", boards.qrels(spec_of(made, measure)))
    with (tmp_path / "rubric.qrels").open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=measure.level)
    rows = {row.run_tag: row for row in board(spec_of(made, measure)).rows}

    for run in collection.runs.all():
        rankings = Ranking.objects.filter(run=run).select_related("run", "topic")
        write_run(tmp_path / "a.run", [convert.ranking(row) for row in rankings])
        with (tmp_path / "a.run").open() as file:
            by_topic = evaluator.evaluate(pytrec_eval.parse_run(file))
        scores = [by_topic[query_id][name] if query_id in by_topic else 0.0 for query_id in qrels]
        assert rows[run.run_tag].score == pytest.approx(np.mean(scores), abs=1e-9)
        assert rows[run.run_tag].stderr == pytest.approx(
            np.std(scores, ddof=1) / np.sqrt(len(scores)), abs=1e-9
        )
