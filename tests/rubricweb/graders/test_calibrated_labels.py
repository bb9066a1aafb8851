"""Labels calibrated by people: in qrels, boards and cards, only when chosen, refused without ratings."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from rubricweb.graders.calibration_cards import make_card
from rubricweb.grades.human_ratings import Cell, rate_cell
from tests import factories
from tests.rubricweb.graders.conftest import text

pytestmark = pytest.mark.portable

GRADES = (0, 1, 4, 5, 5)
"""The grader's, of the passages of each topic; people rate half of them, rounded down."""
RANKED = {"good": (4, 3, 2), "middling": (2, 1, 0), "poor": (0, 1)}
NAMES = ("--llm", "lexical", "--prompt-class", "LexicalBaseline")


@pytest.fixture
def calibrated(collection, assessor):
    """Ten topics with one question and five passages, all rated by people, and three runs."""
    bank, config = factories.BankFactory(collection=collection), factories.lexical_config()
    runs = {tag: factories.RunFactory(collection=collection, run_tag=tag) for tag in RANKED}
    for topic in factories.TopicFactory.create_batch(10, collection=collection):
        item = factories.ItemFactory(bank=bank, topic=topic, text="Why does bread rise?")
        passages = [pooled.passage for pooled in factories.PooledFactory.create_batch(5, topic=topic)]
        for passage, grade in zip(passages, GRADES, strict=True):
            factories.grade(config, item, passage, grade)
            rate_cell(Cell(topic.pk, item.revision_id, passage.pk), rating=grade // 2, by=assessor, seen=0)
        for tag, places in RANKED.items():
            doc_ids = [passages[place].doc_id for place in places]
            factories.RankingFactory(run=runs[tag], topic=topic, doc_ids=doc_ids)
    return bank, config


def qrels(*options):
    out, err = io.StringIO(), io.StringIO()
    call_command("export_qrels", "autumn", *NAMES, "--mode", "calibrated", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_writes_what_grades_are_worth_to_people(calibrated):
    out, err = qrels()
    assert [line.split()[3] for line in out.splitlines()] == ["0", "0", "2", "2", "2"] * 10
    assert "50 labels of 10 topics: highest rating, calibrated by people: grades 0 to 5 become 0 0 1" in err
    assert "tau with people's labels: 1.00 by the highest grade, 1.00 calibrated; difference 0.00" in err

    document = json.loads(qrels("--json")[0])
    assert (document["mode"], document["by_label"]) == ("calibrated", {"2": 30, "0": 20})
    made = document["calibration"]
    assert (made["pairs"], made["topics"], made["orders"]["runs"]) == (50, 10, 3)
    assert [row["label"] for row in made["by_grade"]] == [0, 0, 1, 1, 2, 2]


def test_the_same_labels_by_browser_and_api_and_on_the_board_when_chosen(calibrated, viewer, client_of):
    bank, config = calibrated
    client, expected = client_of(viewer), qrels()[0]
    chosen = {"grader": config.pk, "bank": bank.pk, "min_grade": 2, "mode": "calibrated", "measure": "P_5"}
    for address in ("exports:qrels", "api:qrels"):
        answer = client.get(reverse(address, args=["autumn"]), chosen)
        assert b"".join(answer.streaming_content).decode() == expected

    def scores(**options):
        document = client.get(reverse("api:leaderboard", args=["autumn"]), chosen | options).json()
        return document["labels"], [row["score"] for row in document["rows"]]

    label, calibrated_scores = scores()
    assert label.startswith("highest rating, calibrated by people: grades 0 to 5 become 0 0 1 1 2 2")
    assert calibrated_scores == pytest.approx([0.6, 0.2, 0.0])
    assert scores(mode="max", min_grade=5) == ("highest rating", [0.4, 0.0, 0.0])
    page = text(client.get(reverse("leaderboards:board", args=["autumn"]), chosen))
    assert "isotonic regression on 50 pairs of 10 topics, none on its own" in page


def test_a_card_says_what_each_grade_is_worth_as_a_label(calibrated, developer, client_of):
    card = make_card(*calibrated, by=developer)
    address = reverse("leaderboards:sure", args=["autumn"], query={"bank": card.bank_id, "card": card.pk})
    page = text(client_of(developer).get(address))
    assert "Calibrated labels" in page
    assert "Order of 3 runs by ndcg_cut_20 on the rated pairs" in page


def test_too_few_ratings_are_refused_everywhere_with_their_number(calibrated, viewer, client_of):
    with pytest.raises(CommandError, match="the grader's own grades"):
        call_command("leaderboard", "autumn", *NAMES, "--mode", "calibrated", "--ratings", "humans")
    bank, config = calibrated
    bank.items.filter(topic__in=bank.items.values_list("topic")[:3]).delete()
    reason = "people rated 35 pairs that the grader graded, of 7 topics"
    with pytest.raises(CommandError, match=reason):
        qrels()
    chosen = {"grader": config.pk, "bank": bank.pk, "min_grade": 4, "mode": "calibrated"}
    answer = client_of(viewer).get(reverse("api:qrels", args=["autumn"]), chosen)
    assert answer.status_code == 400
    assert reason in answer.content.decode()
    page = client_of(viewer).get(reverse("releases:share", args=["autumn"]), chosen)
    assert reason in text(page)
