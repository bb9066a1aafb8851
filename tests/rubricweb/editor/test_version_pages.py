"""Versions over HTTP: name, compare in labels and ranks, restore; and duplicates that are merged."""

import pytest

from rubricweb.banks import actions
from rubricweb.banks.versions import bank_stamp, name_version
from rubricweb.editor.what_if import board_diff
from rubricweb.grades.scoring import MeasureSpec
from tests.factories import BankFactory, ItemFactory, TopicFactory, graded, lexical_config, pooled, ranked
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection):
    """Two questions: d0 answers the first (5), d1 the second (4); `ahead` has d0, `behind` d1."""
    bank = BankFactory(collection=collection)
    topic = TopicFactory(collection=collection, query_id="q1")
    ranked(topic, {"ahead": ["d0", "d1"], "behind": ["d1"]})
    graded(bank, topic, pooled(topic, 2), {"Which pigment?": (5, 0), "Which tree?": (0, 4)})
    return bank


@pytest.fixture
def version(bank, developer):
    return name_version(bank, name="As published", by=developer)


def retire_first(bank, by) -> None:
    actions.retire_item(bank.items.order_by("pk").first(), seen=1, by=by)


def test_labels_and_ranks_that_differ(bank, version, developer):
    """Without the first question d0 falls from 5 to 0, and both runs cover all that is asked."""
    retire_first(bank, developer)
    diff = board_diff(bank, (version, None), lexical_config(), MeasureSpec())
    assert [
        (count.topic.query_id, count.passages, count.changed, count.crossing) for count in diff.labels
    ] == [("q1", 2, 1, 1)]
    assert [(m.run_tag, m.before, m.after, m.score_before, m.score_after) for m in diff.runs.moves] == [
        ("behind", 2, 1, 0.5, 1.0)
    ]
    assert (diff.runs.swapped_pairs, diff.runs.rescored) == (0, 1)
    same = board_diff(bank, (version, version), lexical_config(), MeasureSpec())
    assert (same.labels, same.runs.moves, same.runs.rescored) == ((), (), 0)


def test_a_topic_that_only_one_side_asks(bank, version, developer):
    for item in bank.items.all():
        actions.retire_item(item, seen=1, by=developer)
    diff = board_diff(bank, (version, None), lexical_config(), MeasureSpec())
    assert [(count.changed, count.crossing) for count in diff.labels] == [(2, 2)]
    assert diff.runs.rescored == 2


def url(bank, *more: object) -> str:
    place = "".join(f"{part}/" for part in more)
    return f"/collections/{bank.collection.slug}/editor/history/{place}?bank={bank.pk}"


def test_naming_a_version(client_of, developer, viewer, outsider, bank):
    client = client_of(developer)
    assert "Compare or restore" not in markup(client.get(url(bank)))
    answer = client.post(url(bank), {"name": "As published", "note": "For the paper."})
    assert (answer.status_code, answer.url) == (302, url(bank))
    html = markup(client_of(viewer).get(url(bank)))
    assert '<strong dir="auto">As published</strong>' in html or "<strong>As published</strong>" in html
    assert f"/collections/autumn/leaderboards/?bank={bank.pk}&amp;version={bank.versions.get().pk}" in html
    assert "For the paper." in html
    assert "Name a version" not in html
    for name, message in {
        "": "Give it a name.",
        "As published": "has a version named",
        "x" * 121: "at most 120",
    }.items():
        wrong = client.post(url(bank), {"name": name})
        assert wrong.status_code == 422
        assert message in markup(wrong)
    part = markup(client.post(url(bank), {"name": "Later"}, headers=HTMX))
    assert part.strip().startswith('<section id="changes"')
    assert client_of(viewer).post(url(bank), {"name": "Mine"}).status_code == 403
    assert client_of(outsider).get(url(bank)).status_code == 404


def test_comparing(client_of, viewer, outsider, developer, bank, version):
    retire_first(bank, developer)
    html = markup(client_of(viewer).get(url(bank), {"bank": bank.pk} | {"of": 1, "with": "now"}))
    assert "As published → now" in html
    assert "<strong>1 label changes</strong>" in html
    assert "1 run moves" in html
    assert "Possible before" in html
    assert "so all of these moves may be chance" in html
    assert "<del>Which pigment?</del>" in html
    assert "/collections/autumn/leaderboards/compare/?bank=" in html
    assert html.partition('id="diff"')[2].count('<span class="chip">') == 4
    assert "Restore version 1" not in html
    name_version(bank, name="Later", by=developer)
    both = markup(client_of(viewer).get(url(bank), {"bank": bank.pk, "of": 2, "with": 1}))
    assert '<li class="version" aria-current="true">' in both
    assert "<ins>Which pigment?</ins>" in both
    part = markup(client_of(viewer).get(url(bank), {"bank": bank.pk, "of": 1}, headers=HTMX))
    assert part.startswith('<section id="changes"'), "what refreshes itself does not compare anew"
    for wrong in ({"of": 9}, {"of": "x"}, {"of": "1", "with": "²"}):
        assert client_of(viewer).get(url(bank), {"bank": bank.pk} | wrong).status_code == 404
    assert client_of(outsider).get(url(bank), {"bank": bank.pk, "of": 1}).status_code == 404


def test_restoring(client_of, developer, viewer, outsider, bank, version):
    retire_first(bank, developer)
    page = markup(client_of(developer).get(url(bank), {"bank": bank.pk, "of": 1}))
    assert f'name="seen" value="{bank_stamp(bank)}"' in page
    for person, status in ((viewer, 403), (outsider, 404)):
        assert (
            client_of(person).post(url(bank, 1, "restore"), {"seen": bank_stamp(bank)}).status_code == status
        )
    answer = client_of(developer).post(url(bank, 1, "restore"), {"seen": bank_stamp(bank)}, follow=True)
    assert "Restored version 1: 1 item changed." in markup(answer)
    assert bank.items.active().count() == 2
    after = markup(client_of(developer).get(url(bank), {"bank": bank.pk, "of": 1}))
    assert "The rubric is already the same as this version." in after
    assert client_of(developer).post(url(bank, 7, "restore"), {"seen": "x"}).status_code == 404


def test_restoring_what_somebody_changed_meanwhile(client_of, developer, owner, bank, version):
    retire_first(bank, developer)
    seen = bank_stamp(bank)
    actions.revise_item(bank.items.order_by("pk").last(), text="Which trees, then?", seen=1, by=owner)
    answer = client_of(developer).post(url(bank, 1, "restore"), {"seen": seen})
    html = markup(answer)
    assert answer.status_code == 409
    assert "Somebody else changed this rubric" in html
    assert "trees, then?</ins>" in html
    assert f'name="seen" value="{bank_stamp(bank)}"' in html
    assert bank.items.active().count() == 1


@pytest.fixture
def twins(bank):
    topic = bank.items.first().topic
    return ItemFactory(bank=bank, topic=topic, text="Which the trees?"), topic


def test_merging_duplicates(client_of, developer, viewer, outsider, bank, twins):
    twin, topic = twins
    address = f"/collections/{bank.collection.slug}/review/problems/"
    keep = bank.items.get(revision__text="Which tree?")
    client, merge = client_of(developer), {"problem": f"pair-{keep.pk}-{twin.pk}", "deed": "merge"}
    assert f"problem={merge['problem']}" in markup(client.get(address))
    assert "Retired as its duplicate" in markup(client.get(address, merge))
    assert client_of(viewer).post(address, merge | {"seen": 1}).status_code == 403
    assert client_of(outsider).get(address).status_code == 404
    stale = client.post(address, merge | {"seen": 7})
    assert stale.status_code == 409
    assert "Somebody else changed this item" in markup(stale)
    assert client.post(address, merge | {"seen": 1}).status_code == 302
    twin.refresh_from_db()
    assert (twin.is_retired, twin.merged_into) == (True, keep)
    editor = markup(client.get(f"/review/banks/{bank.pk}/topics/{topic.pk}/"))
    assert "duplicate of" in editor
    undo = " ".join(editor[editor.index('<div class="toast"') :].split())
    assert f'action="{address}?problem={merge["problem"]}"' in undo
    assert 'name="seen" value="2"' in undo
