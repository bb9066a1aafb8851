"""The list of problems, on the example of conftest: Q1 covers d3, judged 1; nothing covers d2, judged 2."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.banks import actions
from rubricweb.corpus.models import Judgment
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Flag, Subject
from tests.factories import BankFactory, ItemFactory, PassageFactory, PooledFactory, grade
from tests.rubricweb.markup import markup
from tests.rubricweb.toasts import press_undo

pytestmark = pytest.mark.portable

HTMX = {"HX-Request": "true"}
PAGE = "/collections/autumn/review/problems/"
Q1 = "Which pigment makes leaves red?"
SPAN = "planted along many streets"


def item_key(autumn, item: int = 0) -> str:
    return f"item-{autumn.items[item].pk}"


def passage_key(autumn, doc_id: str = "d2") -> str:
    return f"passage-{autumn.topic.pk}-{autumn.passages[doc_id].pk}"


def keys(page) -> list[str]:
    return [row.problem.key for row in page.context["rows"]]


def misleading(page) -> list[tuple[str, int, int]]:
    return [
        (row.text, row.problem.finding.spurious.count, row.problem.finding.spurious.n_graded)
        for row in page.context["rows"]
        if row.problem.kind == "misleading"
    ]


def uncovered(page) -> list[tuple[str, int | None, int, int]]:
    return [
        (row.doc_id, gap.judgment, gap.label, gap.runs)
        for row in page.context["rows"]
        if row.problem.kind == "uncovered" and (gap := row.problem.finding)
    ]


def draft(autumn, **more: object) -> dict[str, object]:
    form = {"spans": SPAN, "kind": "question", "facet_id": "", "text": "Where are maples planted?"}
    return {"problem": passage_key(autumn), "deed": "add"} | form | more


def test_the_list_has_every_kind_and_counts_them(client_of, viewer, autumn):
    page = client_of(viewer).get(PAGE)
    html = markup(page)
    assert misleading(page) == [(Q1, 1, 2)]
    assert uncovered(page) == [("d2", 2, 1, 1)]
    assert "1 relevant passage is not graded yet" in " ".join(html.split())
    assert [(kind, count) for kind, _, count in page.context["kinds"]] == [
        ("misleading", 1),
        ("weak", 0),
        ("uncovered", 1),
        ("same", 0),
        ("copies", 0),
    ]


def test_what_is_missing_is_that_of_the_rubric_whichever_problem_is_open(client_of, viewer, autumn):
    page = client_of(viewer).get(PAGE, {"problem": passage_key(autumn)})
    assert page.context["topic"] == autumn.topic
    assert f'hx-get="/collections/autumn/grades/jobs/missing/?bank={autumn.bank.pk}"' in markup(page)


def test_a_weak_item_is_listed_with_its_evidence_and_set_aside(client_of, developer, autumn):
    item = ItemFactory(bank=autumn.bank, topic=autumn.topic, text="Why do leaves turn red, and when?")
    client, key = client_of(developer), f"weak-{item.pk}"
    page = client.get(PAGE, {"kind": "weak"})
    assert keys(page) == [key]
    html = " ".join(markup(client.get(PAGE, {"kind": "weak", "problem": key})).split())
    assert "“Why do leaves turn red” | “and when?”" in html
    editor = markup(client.get(f"/review/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/?view=bank"))
    assert "⚠ compound" in editor
    client.post(PAGE, {"problem": key, "deed": "aside", "reason": "Both belong together."})
    assert keys(client.get(PAGE, {"kind": "weak"})) == []
    assert Flag.objects.get(item=item).kind == "unclear"


def test_an_item_that_the_whole_pool_covers_is_weak(client_of, viewer, autumn):
    for number in range(12):
        passage = PassageFactory(collection=autumn.collection, doc_id=f"x{number}")
        PooledFactory(topic=autumn.topic, passage=passage)
        grade(autumn.config, autumn.items[1], passage, 5)
    autumn.collection.stamp += 1
    autumn.collection.save()
    [row] = [
        row for row in client_of(viewer).get(PAGE, {"kind": "weak"}).context["rows"]
        if row.problem.finding.item.pk == autumn.items[1].pk
    ]  # fmt: skip
    [mark] = row.problem.finding.marks
    assert mark.fault == "covered at random"


def test_the_list_is_ordered_by_what_moves_the_board(client_of, viewer, autumn):
    """Of two runs both find Q1 in d1; a new item for d2 would be covered by one of them only."""
    page = client_of(viewer).get(PAGE)
    assert keys(page) == [passage_key(autumn), item_key(autumn)]
    passage, item = [row.problem.effect for row in page.context["rows"]]
    assert (passage.moving, item.moving) == (1, 0)
    assert passage.change == pytest.approx(2 / 4 - 1 / 3), "bm25 covers 1 of 3 items, then 2 of 4"
    assert item.change == pytest.approx(1 / 3), "without Q1 no item is covered"


def test_thresholds_topic_and_kind_are_in_the_address(client_of, viewer, autumn):
    client = client_of(viewer)
    assert misleading(client.get(PAGE, {"min_relevant": 3})) == [(Q1, 1, 3)]
    assert misleading(client.get(PAGE, {"min_relevant": 1})) == []
    assert misleading(client.get(PAGE, {"min_grade": 5})) == []
    assert uncovered(client.get(PAGE, {"min_relevant": 3})) == []
    wide = client.get(PAGE, {"min_relevant": 0, "min_grade": 5, "topic": autumn.topic.pk})
    assert {doc_id for doc_id, *_ in uncovered(wide)} == {"d2", "d3", "d4"}
    assert keys(client.get(PAGE, {"kind": "uncovered"})) == [passage_key(autumn)]
    for wrong in ({"topic": "999"}, {"min_grade": "x"}, {"page": "-1"}, {"source": "x"}, {"kind": "x"}):
        assert misleading(client.get(PAGE, wrong)) == [(Q1, 1, 2)]


def test_without_judgments_relevant_is_what_people_rated(client_of, viewer, assessor, autumn):
    Judgment.objects.all().delete()
    autumn.collection.stamp += 1
    autumn.collection.save()
    empty = client_of(viewer).get(PAGE)
    assert keys(empty) == []
    assert "No problem known" in markup(empty)
    assert "1 topic checked at" in " ".join(markup(empty).split())
    for doc_id, rating in {"d3": 1, "d1": 5, "d2": 4}.items():
        rate_cell(Cell.of(autumn.items[1], autumn.passages[doc_id]), rating=rating, by=assessor, seen=0)
    page = client_of(viewer).get(PAGE)
    assert misleading(page) == [(Q1, 1, 1)]
    assert uncovered(page) == [("d2", None, 1, 1)]
    assert "people rated below 4 on every item" in " ".join(
        markup(client_of(viewer).get(PAGE, {"problem": item_key(autumn)})).split()
    )


@pytest.mark.usefixtures("developers_only")
def test_who_may_see_and_do_what(client_of, viewer, assessor, outsider, autumn):
    places = ({}, {"problem": item_key(autumn)}, {"problem": passage_key(autumn)})
    for place in places:
        assert client_of(outsider).get(PAGE, place).status_code == 404
        assert client_of(viewer).get(PAGE, place).status_code == 200
        assert "deed" not in markup(client_of(assessor).get(PAGE, place))
    forms = (
        {"problem": item_key(autumn), "deed": "reword", "text": "Is it red?", "seen": 1},
        {"problem": item_key(autumn), "deed": "retire", "seen": 1},
        {"problem": item_key(autumn), "deed": "aside", "reason": "It is fine."},
        draft(autumn),
        {"problem": passage_key(autumn), "rewording": autumn.items[0].pk},
    )
    for form in forms:
        assert client_of(assessor).post(PAGE, form).status_code == 403
        assert client_of(outsider).post(PAGE, form).status_code == 404
    assert not Flag.objects.exists()
    assert client_of(viewer).put(PAGE).status_code == 405


def test_a_key_names_only_what_is_in_the_bank_and_the_pool(client_of, viewer, autumn):
    elsewhere = ItemFactory(bank=BankFactory(collection=autumn.collection, name="other"), topic=autumn.topic)
    stray = PassageFactory(collection=autumn.collection)
    one, other = autumn.items[0].pk, autumn.items[2].pk
    for key in (
        f"item-{elsewhere.pk}",
        f"passage-{autumn.topic.pk}-{stray.pk}",
        f"pair-{one}-{one}",
        f"pair-{one}-{elsewhere.pk}",
        f"pair-{one}-{other}",
        "item-",
        "nonsense",
    ):
        assert client_of(viewer).get(PAGE, {"problem": key}).status_code == 404, key


def test_a_misleading_item_shows_its_passages(client_of, developer, autumn):
    html = markup(client_of(developer).get(PAGE, {"problem": item_key(autumn)}))
    assert "<!DOCTYPE html>" in html
    assert "Ripe apples turn red because of anthocyanins." in html
    assert autumn.cell("d3", 0) in html
    assert "3 labels change, no run changes rank" in " ".join(html.split())
    part = client_of(developer).get(
        PAGE, {"problem": item_key(autumn)}, headers=HTMX | {"HX-Target": "problem"}
    )
    assert markup(part).strip().startswith("<section")
    assert 'id="problem"' in markup(part)
    assert 'id="problem-list"' not in markup(part)


def test_passages_are_escaped(client_of, viewer, autumn):
    html = markup(client_of(viewer).get(PAGE, {"min_grade": 1, "problem": item_key(autumn, 2)}))
    assert "&lt;script&gt;alert" in html
    assert "<script>alert" not in html


def test_rewording_opens_the_next_problem(client_of, developer, autumn):
    client, item = client_of(developer), autumn.items[0]
    form = {"problem": item_key(autumn), "deed": "reword", "seen": 1, "next": passage_key(autumn)}
    answer = client.post(f"{PAGE}?min_grade=3", form | {"text": "Which pigment makes maple leaves red?"})
    assert answer.status_code == 302
    assert answer.url == f"{PAGE}?min_grade=3&problem={passage_key(autumn)}"
    assert [(change.verb, change.by) for change in item.changes.all()] == [("reworded", developer)]
    part = client.post(PAGE, form | {"text": "Is it red?", "seen": 2}, headers=HTMX)
    assert part.headers["HX-Push-Url"] == f"{PAGE}?problem={passage_key(autumn)}"
    assert f'data-key-of="{passage_key(autumn)}"' in markup(part)
    assert "items-changed" in part.headers["HX-Trigger-After-Settle"]


@pytest.mark.parametrize(
    ("text", "reason"), [("", "Write the question"), ("What does <script> do to a leaf?", "already asks")]
)
def test_a_wording_that_cannot_be_saved_stays_open(client_of, developer, autumn, text, reason):
    form = {"problem": item_key(autumn), "deed": "reword", "text": text, "seen": 1}
    answer = client_of(developer).post(PAGE, form)
    assert answer.status_code == 422
    assert reason in markup(answer)


def test_two_rewordings_at_once_are_shown_both(client_of, developer, owner, autumn):
    actions.revise_item(autumn.items[0], text="Theirs?", seen=1, by=owner)
    form = {"problem": item_key(autumn), "deed": "reword", "text": "Mine?", "seen": 1}
    answer = client_of(developer).post(PAGE, form, headers=HTMX)
    html = markup(answer)
    assert answer.status_code == 409
    assert "Yours was not saved" in html
    assert "Theirs?" in html
    assert 'name="seen" value="2"' in html
    autumn.items[0].refresh_from_db()
    assert str(autumn.items[0]) == "Theirs?"


def test_retiring_takes_the_item_off_the_list(client_of, developer, autumn):
    client, item = client_of(developer), autumn.items[0]
    form = {"problem": item_key(autumn), "deed": "retire"}
    assert client.post(PAGE, form).status_code == 422
    assert client.post(PAGE, form | {"seen": 1}).status_code == 302
    item.refresh_from_db()
    assert item.is_retired
    assert misleading(client.get(PAGE)) == []
    assert "It is retired" in markup(client.get(PAGE, {"problem": item_key(autumn)}))


@pytest.mark.parametrize(
    ("deed", "fields"), [("retire", {"seen": 1}), ("reword", {"seen": 1, "text": "Is it red?"})]
)
def test_undo_opens_the_problem_again(client_of, developer, autumn, deed, fields):
    client, item = client_of(developer), autumn.items[0]
    before, form = str(item), {"problem": item_key(autumn), "deed": deed} | fields
    answer = client.post(f"{PAGE}?min_grade=3", form, headers=HTMX | {"HX-Target": "problems"})
    back = press_undo(client, answer)
    item.refresh_from_db()
    assert (item.is_retired, str(item)) == (False, before)
    assert item_key(autumn) in keys(back)


def test_retiring_what_was_changed_meanwhile_is_refused(client_of, developer, owner, autumn):
    actions.revise_item(autumn.items[0], text="Theirs?", seen=1, by=owner)
    form = {"problem": item_key(autumn), "deed": "retire", "seen": 1}
    answer = client_of(developer).post(PAGE, form, headers=HTMX)
    assert answer.status_code == 409
    assert "It was reworded by" in markup(answer)
    autumn.items[0].refresh_from_db()
    assert not autumn.items[0].is_retired


def test_a_problem_set_aside_leaves_the_list_with_its_reason(client_of, developer, autumn):
    client = client_of(developer)
    for key in (item_key(autumn), passage_key(autumn)):
        assert client.post(PAGE, {"problem": key, "deed": "aside", "reason": " "}).status_code == 422
        assert (
            client.post(PAGE, {"problem": key, "deed": "aside", "reason": "It is fine."}).status_code == 302
        )
    page = client.get(PAGE)
    assert keys(page) == []
    assert "2 set aside" in markup(page)
    aside = client.get(PAGE, {"aside": 1})
    assert set(keys(aside)) == {item_key(autumn), passage_key(autumn)}
    assert "It is fine." in markup(aside)
    assert [(flag.kind, flag.is_open) for flag in Flag.objects.order_by("kind")] == [
        ("spurious", False),
        ("uncovered", False),
    ]


def test_setting_aside_can_be_taken_back(client_of, developer, autumn):
    client = client_of(developer)
    form = {"problem": item_key(autumn), "deed": "aside", "reason": "It is fine."}
    back = press_undo(client, client.post(PAGE, form, headers=HTMX | {"HX-Target": "problems"}))
    assert item_key(autumn) in keys(back)
    assert not Flag.objects.open().exists()


def test_a_reworded_item_is_a_problem_again(client_of, developer, autumn):
    client, item = client_of(developer), autumn.items[0]
    client.post(PAGE, {"problem": item_key(autumn), "deed": "aside", "reason": "It is fine."})
    actions.revise_item(item, text="What makes leaves red?", seen=1, by=developer)
    for doc_id, rating in {"d3": 5, "d4": 0}.items():
        grade(autumn.config, item, autumn.passages[doc_id], rating)
    assert item_key(autumn) in keys(client.get(PAGE))


def test_setting_aside_closes_what_people_flagged(client_of, developer, assessor, autumn):
    about = Subject(autumn.bank, autumn.topic, autumn.items[0])
    flag = open_flag(about, kind=Flag.Kind.SPURIOUS, by=assessor)
    client_of(developer).post(PAGE, {"problem": item_key(autumn), "deed": "aside", "reason": "It is fine."})
    flag.refresh_from_db()
    assert not flag.is_open


@pytest.fixture
def twins(autumn):
    """Two questions that ask the same."""
    texts = ("How did the rock begin?", "How does rock begin?")
    return [ItemFactory(bank=autumn.bank, topic=autumn.topic, kind="question", text=text) for text in texts]


def test_items_that_say_the_same_are_merged(client_of, developer, autumn, twins):
    client, (keep, duplicate) = client_of(developer), twins
    key = f"pair-{keep.pk}-{duplicate.pk}"
    assert key in keys(client.get(PAGE))
    html = markup(client.get(PAGE, {"problem": key}))
    assert f"problem=pair-{duplicate.pk}-{keep.pk}" in html, "the two can be swapped"
    assert client.post(PAGE, {"problem": key, "deed": "merge"}).status_code == 422
    answer = client.post(PAGE, {"problem": key, "deed": "merge", "seen": 1}, headers=HTMX)
    duplicate.refresh_from_db()
    assert (duplicate.is_retired, duplicate.merged_into) == (True, keep)
    assert key not in keys(client.get(PAGE))
    press_undo(client, answer)
    duplicate.refresh_from_db()
    assert not duplicate.is_retired


def test_merging_needs_a_topic_developer(client_of, assessor, autumn, twins):
    key = f"pair-{twins[0].pk}-{twins[1].pk}"
    assert client_of(assessor).post(PAGE, {"problem": key, "deed": "merge", "seen": 1}).status_code == 403
    twins[1].refresh_from_db()
    assert not twins[1].is_retired


def test_a_pair_set_aside_is_back_once_one_is_reworded(client_of, developer, autumn, twins):
    client, (keep, duplicate) = client_of(developer), twins
    key = f"pair-{keep.pk}-{duplicate.pk}"
    client.post(PAGE, {"problem": key, "deed": "aside", "reason": "Past and present differ."})
    assert key not in keys(client.get(PAGE))
    actions.revise_item(keep, text="How did rock begin?", seen=1, by=developer)
    assert key in keys(client.get(PAGE))


def test_without_a_bank_the_page_leads_to_the_topics(client_of, viewer, collection):
    page = markup(client_of(viewer).get(f"/collections/{collection.slug}/review/problems/"))
    assert "No rubric yet" in page


def test_a_bank_without_items_has_no_problem(client_of, viewer, autumn):
    bank = BankFactory(collection=autumn.collection, name="other")
    page = client_of(viewer).get(PAGE, {"bank": bank.pk})
    assert "No topic has a question or nugget." in " ".join(markup(page).split())


def test_queries_do_not_grow_with_the_list(client_of, viewer, autumn):
    client = client_of(viewer)
    narrow = {"min_grade": 4, "min_relevant": 3, "problem": item_key(autumn)}
    wide = {"min_grade": 1, "min_relevant": 1, "problem": item_key(autumn)}
    for place in (narrow, wide):
        client.get(PAGE, place)
    with CaptureQueriesContext(connection) as few:
        client.get(PAGE, narrow)
    for doc_id in ("<b>d5", "d6"):
        Judgment.objects.get_or_create(topic=autumn.topic, doc_id=doc_id, defaults={"relevance": 3})
        grade(autumn.config, autumn.items[0], autumn.passages[doc_id], 0)
    autumn.collection.stamp += 1
    autumn.collection.save()
    client.get(PAGE, wide)
    with CaptureQueriesContext(connection) as more:
        page = client.get(PAGE, wide)
    assert len(keys(page)) > 2
    assert len(more) <= len(few) + 1


@pytest.mark.parametrize(
    ("target", "root"), [("problems", "<div"), ("problem-list", "<section"), ("nearest", "<section")]
)
def test_the_parts_for_htmx(client_of, developer, autumn, target, root):
    place = {"problem": passage_key(autumn)}
    part = markup(client_of(developer).get(PAGE, place, headers=HTMX | {"HX-Target": target})).strip()
    assert part.startswith(root)
    assert f'id="{target}"' in part[:120]
