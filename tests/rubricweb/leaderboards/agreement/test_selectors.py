"""Inter-annotator tables counted by hand on the small collection."""

import numpy as np
import pytest

from rubricweb.grades.configs import imported_config
from rubricweb.leaderboards import agreement_tables
from rubricweb.leaderboards.agreement import agreements, between, labellers, threshold_kappas
from tests import factories
from tests.worked import judge

DOCS = {"d1": (5, 3), "d2": (4, 0), "e1": (2, 0), "e2": (4, 2)}
"""Label (highest rating) and judgment; d3 has a label and no judgment."""


@pytest.fixture
def found(made):
    judge(made)
    (one,) = agreements(labellers(made.collection, [made.config], [made.bank]))
    return one


def test_the_graded_table(found):
    assert found.judgments == (3, 2, 0)
    assert found.labels == (5, 4, 3, 2, 1, 0)
    expected = np.zeros((6, 3), dtype=int)
    for label, judgment in DOCS.values():
        expected[found.labels.index(label), found.judgments.index(judgment)] += 1
    assert found.counts.tolist() == expected.tolist()


def test_the_binary_table_and_its_kappa(found):
    """At label 4 and judgment 2: d1 and e2 yes/yes, d2 yes/no, e1 no/no. po = 3/4, pe = 1/2."""
    assert sum(found.binary(4, 2)).tolist() == [[2, 1], [0, 1]]
    assert found.kappa(4, 2) == pytest.approx((0.75 - 0.5) / 0.5)
    assert found.kappa(1, 2) == 0
    assert found.kappa(4, 9) == 0


def test_items_needed(made):
    """With two items needed only t1's passages can have a label above 0: min of both ratings, 0 each."""
    judge(made)
    (one,) = agreements(labellers(made.collection, [made.config], [made.bank]), min_answers=2)
    assert one.counts.sum(axis=1).tolist() == [0, 0, 0, 0, 0, 4]
    (labeller,) = labellers(made.collection, [made.config], [made.bank])
    kappas = threshold_kappas(labeller, min_relevant=2)
    assert np.array(kappas, dtype=float).shape == (5, 5)
    assert kappas[0][3] == pytest.approx(0.5)
    assert set(kappas[1]) == {0.0}


def test_two_graders(made):
    judge(made)
    other = imported_config("m", "SelfRated", "rate")
    item = made.items["t1"][0]
    for doc_id, rating in (("d1", 4), ("d2", 0), ("d3", 5)):
        factories.grade(other, item, made.passages[doc_id], rating)
    first, second = labellers(made.collection, [made.config, other], [made.bank])
    (pair,) = between([first, second], min_grade=4)
    assert pair.n == 3
    assert pair.kappa == pytest.approx((1 / 3 - 5 / 9) / (1 - 5 / 9))
    assert pair.weighted is not None


def test_a_grader_that_labels_passages_counts_from_1(made):
    judge(made)
    direct = imported_config("m", "Sun", "direct")
    item = factories.ItemFactory(bank=made.bank, topic=made.topics["t1"], text="direct")
    revision = factories.ItemRevisionFactory(topic=made.topics["t1"], uid="direct", text="")
    item.revision = revision
    for doc_id, label in (("d1", 1), ("d2", 0)):
        factories.grade(direct, item, made.passages[doc_id], label)
    (one,) = agreements(labellers(made.collection, [direct], [made.bank]))
    assert one.labels == (1, 0)
    sheet = agreement_tables.binary([one], min_grade=4, min_relevant=2)
    assert [[cell.text for cell in cells] for cells in sheet.rows] == [
        ["Sun (m)", "1", "1", "0", "1", "1.000", "\N{EN DASH}"],
        ["Sun (m)", "below 1", "0", "1", "1", "", ""],
    ]


def test_sheets_say_what_the_tables_do(found):
    sheet = agreement_tables.graded(found, min_relevant=2)
    heads = ("Label", "judged 3", "judged 2", "judged 0", "Total", "\u03ba best fit", "\u03ba fixed pairing")
    assert sheet.columns == heads
    assert [cell.text for cell in sheet.rows[1]][:6] == ["4", "0", "1", "1", "2", "0.500 with 2"]
    document = agreement_tables.document([found], min_grade=4, min_relevant=2, min_answers=1)
    (grader,) = document["graders"]
    assert (grader["binary"], grader["kappa"]) == ([[2, 1], [0, 1]], 0.5)


def test_kappa_of_the_papers_pairing_stands_beside_that_of_the_best_fit(found):
    """Label 4 fits judgment 2 best here; the papers pair it with 3, as they chose before they counted."""
    place = found.labels.index(4)
    best, fixed = found.best_fit(place), found.fixed_pair(4, 2)
    assert (found.judgments[best], found.judgments[fixed]) == (2, 3)
    assert [found.fixed_pair(label, 2) for label in found.labels] == [0, 0, 1, 1, 1, 2]
    assert [found.fixed_pair(label, 1) for label in found.labels] == [1, 1, None, None, None, 2]
    assert found.fixed_pair(4, 3) is None, "no paper has judgments relevant from 3"

    sheet = agreement_tables.graded(found, min_relevant=2)
    texts = [cell.text for cell in sheet.rows[place]][-2:]
    kappas = found.cell_kappas[place]
    assert texts == [f"{kappas[best]:.3f} with 2", f"{kappas[fixed]:.3f} with 3"]
    (grader,) = agreement_tables.document([found], min_grade=4, min_relevant=2, min_answers=1)["graders"]
    line = grader["graded_kappas"][1]
    assert (line["label"], line["best_fit"], line["fixed_pairing"]) == (4, 2, 3)


def test_labels_of_other_scales_have_no_fixed_pairing(made):
    judge(made)
    direct = imported_config("m", "Sun", "direct")
    item = made.items["t1"][0]
    factories.grade(direct, item, made.passages["d1"], 1)
    (one,) = agreements(labellers(made.collection, [direct], [made.bank]))
    assert {one.fixed_pair(label, 2) for label in one.labels} == {None}


def test_the_table_for_programs_has_every_box(found):
    table = agreement_tables.table([found], min_grade=4, min_relevant=2)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    binary = [row for row in rows if row["table"] == "binary"]
    graded = [row for row in rows if row["table"] == "graded"]

    assert [row["passages"] for row in binary] == [2, 1, 0, 1]
    assert [(row["label_low"], row["label_high"]) for row in binary[::2]] == [(4, 5), (0, 3)]
    assert binary[0]["kappa"] == pytest.approx(0.5)
    assert len(graded) == 6 * 3
    assert sum(row["passages"] for row in graded) == 4
    assert [row["judgment_low"] for row in graded if row["is_fixed_pairing"]] == [3, 3, 2, 2, 2, 0]
