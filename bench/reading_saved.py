"""How much people read for a rating: whole passages against one cell at a time, in the same run.

    python bench/reading_saved.py [FOLDER] [--topic ID] [--people 4]

FOLDER has the files of LLMJudge: `graded.jsonl.gz`, `questions.jsonl.gz`, `queries.json`, `qrels.txt` and
`runs/`; without it the demo collection is used. Each campaign has every cell of one topic, by default that
with the fewest passages, and is rated to the end: the lengths of passages differ too much for a part of it.
People take turns, each rates what the queue hands to them, by the code that the product runs, and the
characters of a passage count whenever another one than before comes up for that person. Before, a campaign
had each cell by itself, in random order or by the expected change of the leaderboard, two leased at a time.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from rubricweb.campaigns.models import Campaign
    from rubricweb.corpus.models import Collection

ROOT = Path(__file__).resolve().parents[1]
WANTED = 7.5
"""Characters a rating before, divided by those now; LLMJudge has 8 items a passage, so that 8 is the most."""


@dataclass(frozen=True)
class Way:
    """An order of cells and passages, and how many cells a page held."""

    name: str
    order: str
    passage_order: str
    hold: int
    before: str = ""
    """The way that it is compared with."""


WAYS = (
    Way("one cell at a time, random", "random", "cell", 2),
    Way("one cell at a time, by value", "leaderboard", "cell", 2),
    Way("by passage, then topic", "random", "topic", 8, before="one cell at a time, random"),
    Way("by passage, by value", "leaderboard", "board", 8, before="one cell at a time, by value"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--topic")
    parser.add_argument("--people", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as var:
        os.environ |= {
            "RUBRIC_DATA_DIR": var,
            "DATABASE_URL": f"sqlite:///{var}/bench.sqlite3",
            "RUBRIC_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        return measure(imported(options.folder), options)


def imported(folder: Path | None) -> Collection:
    from django.core.management import call_command

    from rubricweb.corpus.models import Collection

    call_command("migrate", verbosity=0)
    if folder is None:
        call_command("demo", "--load-only", verbosity=0)
        return Collection.objects.get()
    files = {"graded": [folder / "graded.jsonl.gz"], "bank": [folder / "questions.jsonl.gz"]}
    single = {"queries": folder / "queries.json", "qrels": folder / "qrels.txt"}
    call_command("import_collection", "bench", **files, **single, runs=folder / "runs", verbosity=0)
    return Collection.objects.get()


def measure(collection: Collection, options: argparse.Namespace) -> int:
    characters: dict[str, float] = {}
    for way in WAYS:
        campaign = campaign_of(collection, way, options.topic)
        size, each = campaign.cells.count(), campaign.cells.values("passage").distinct().count()
        characters[way.name], rated = read(campaign, people_of(way, options.people), way)
        print(
            f"{way.name:30} {characters[way.name]:8.0f} characters a rating"
            f"  ({rated} ratings; {size:,} cells of {each:,} passages)",
            end="",
        )
        saved = characters[way.before] / characters[way.name] if way.before else 0
        print(f"  {saved:.1f} times less than before" if saved else "")
    worst = min(characters[way.before] / characters[way.name] for way in WAYS if way.before)
    print(f"target: {WANTED} times less; measured at least {worst:.1f}")
    return 0 if worst >= WANTED else 1


def campaign_of(collection: Collection, way: Way, query_id: str | None) -> Campaign:
    from django.db.models import Count, Q

    from rubricweb.campaigns.actions import CampaignPlan, open_campaign
    from rubricweb.campaigns.models import Campaign
    from rubricweb.campaigns.population import Choice
    from rubricweb.grades.raters import KINDS, raters

    items = Count("items", filter=~Q(items__revision__text=""))
    bank = collection.banks.annotate(asked=items).order_by("-asked")[0]
    topics = collection.topics.filter(items__bank=bank).annotate(passages=Count("pool", distinct=True))
    topics = topics.filter(query_id=query_id) if query_id else topics.order_by("passages")[:1]
    choice = Choice(
        bank,
        tuple(topics),
        frozenset(KINDS),
        raters(bank)[0],
        order=Campaign.Order(way.order),
        random_share=0,
        passage_order=Campaign.PassageOrder(way.passage_order),
    )
    return open_campaign(choice, CampaignPlan(way.name, Campaign.Mode.BLIND), by=None, seed=1)


def read(campaign: Campaign, people: list[Any], way: Way) -> tuple[float, int]:
    """Characters a rating, and how many ratings there were."""
    from rubricweb.campaigns.actions import rate
    from rubricweb.campaigns.leases import top_up

    on_screen: dict[int, int] = {}
    characters = rated = 0
    for person in people:
        top_up(campaign, person, count=way.hold)
    waiting = cycle(people)
    while any(campaign.turns.filter(state="leased")[:1]):
        turn = next_turn(campaign, person := next(waiting))
        if turn is None:
            top_up(campaign, person, count=way.hold)
            continue
        if on_screen.get(person.pk) != turn.cell.passage_id:
            on_screen[person.pk] = turn.cell.passage_id
            characters += len(turn.cell.passage.text)
        rate(turn.cell, rating=3, by=person, seen=0, uid=uuid4(), hold=way.hold)
        rated += 1
    return characters / max(rated, 1), rated


def next_turn(campaign: Campaign, person: Any) -> Any:
    """What the person's page shows next: the first item of the passage that was leased first."""
    from rubricweb.campaigns.models import Turn

    held = campaign.turns.filter(person=person, state=Turn.State.LEASED)
    return held.select_related("cell__passage", "cell__campaign").order_by("taken_at", "order", "pk").first()


def people_of(way: Way, count: int) -> list[Any]:
    """New ones: what a person rated in another campaign comes last."""
    from rubricweb.accounts.models import User

    return [User.objects.create_user(f"{WAYS.index(way)}-{number}") for number in range(count)]


if __name__ == "__main__":
    sys.exit(main())
