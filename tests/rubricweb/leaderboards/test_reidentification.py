"""Readers who know runs by pseudonyms cannot tell from official scores whose they are."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import product

import pytest
from django.urls import reverse

from grading.statistics.rank_intervals import competition_ranks
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import OfficialScore
from rubricweb.corpus.pseudonyms import run_pseudonym
from tests.rubricweb.routes import routes
from tests.rubricweb.tracks import TASKS, track

BOARD = "Zephyr cup"
SALT = "0123456789abcdef"
NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
LOOKED_AT = 14
"""Numbers before and after a name that are taken as the run's."""
OFFICIAL = {"reference": f"official:{BOARD}"}
FORMS = (
    *("order.tsv", "order.svg", "order.tex", "thresholds.tsv", "graders.tsv", "graders.json", "detail.tsv"),
    *("detail.tex", "all.zip"),
)
FIGURES = {
    "leaderboards:sure": [
        *(OFFICIAL | {"form": form} for form in FORMS),
        *(OFFICIAL | {"table": table} for table in ("graders", "detail")),
        OFFICIAL,
    ],
    "exports:leaderboard": [{"format": form} for form in ("tsv", "json", "tex", "eval.jsonl")],
    "leaderboards:board": [{"topic": "t1"}, {"measure": "map"}, {"runs": "*"}],
    "leaderboards:plot": [{}],
    "leaderboards:compare": [{"view": "then", "then_min_grade": "3"}, {"view": "then", "file": "runs.svg"}],
    "api:leaderboard": [{"measure": "map"}, {"topic": "t1"}],
}
"""Every figure and table of boards, as the address asks for it."""


def texts(client, addresses) -> dict[str, str]:
    """What the addresses answer, zips by their files; each picture by itself, too."""
    answers = {}
    for address, parameters in addresses:
        response = client.get(address, parameters)
        body = b"".join(response.streaming_content) if response.streaming else response.content
        name = f"{address} {parameters}"
        if zipfile.is_zipfile(io.BytesIO(body)):
            archive = zipfile.ZipFile(io.BytesIO(body))
            answers |= {f"{name} {part}": archive.read(part).decode() for part in archive.namelist()}
        else:
            answers[name] = body.decode(errors="replace")
    pictures = {
        f"{name} svg {place}": part
        for name, text in answers.items()
        for place, part in enumerate(text.split("<svg")[1:])
    }
    return answers | pictures


def attack(text: str, shown: dict[str, str], official: dict[str, float]) -> bool:
    """Whether some number that stands near each run's name orders the runs as the official board does.

    `shown` has the names on the page, by run tag. An order of names that is the official one will do, too.
    """
    places = {
        tag: [found.start() for found in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
        for tag, name in shown.items()
    }
    there = [tag for tag in official if places.get(tag)]
    if len(there) < 6:
        return False
    ranks = [official[tag] for tag in there]
    fewest = min(len(places[tag]) for tag in there)
    for nth in range(-min(fewest, 4), min(fewest, 4)):  # the first and the last ones
        at = {tag: places[tag][nth] for tag in there}
        if same_order([at[tag] for tag in there], ranks):
            return True
        spans = [
            (NUMBERS.findall(text[max(0, at[tag] - 400) : at[tag]])[::-1], after(text, at[tag], shown[tag]))
            for tag in there
        ]
        for side, place in product((0, 1), range(LOOKED_AT)):
            columns = [span[side] for span in spans]
            if all(len(column) > place for column in columns) and same_order(
                [float(column[place]) for column in columns], ranks
            ):
                return True
    return False


def after(text: str, at: int, name: str) -> list[str]:
    return NUMBERS.findall(text[at + len(name) : at + len(name) + 400])


def same_order(values: list[float], ranks: list[float]) -> bool:
    """Whether the values stand in the order of the ranks, or in its reverse."""
    rising = competition_ranks(dict(enumerate(values)))
    falling = competition_ranks({place: -value for place, value in enumerate(values)})
    own = competition_ranks({place: -rank for place, rank in enumerate(ranks)})
    return own in (rising, falling) and len(set(values)) == len(values)


@pytest.fixture
def raced(db):
    """Thirteen runs with official scores of their own, in no order that the collection's own data has.

    The salt is fixed: some order of six names that are drawn anew is once in a while the official one.
    """
    collection = track("raced", tuple(TASKS))
    collection.name_salt = SALT
    collection.save(update_fields=["name_salt"])
    collection.official_scores.all().delete()
    tags = list(collection.runs.order_by("run_tag").values_list("run_tag", flat=True))
    order = [5, 11, 2, 8, 0, 12, 6, 3, 9, 1, 7, 10, 4]
    OfficialScore.objects.bulk_create(
        OfficialScore(
            collection=collection, board=BOARD, run_tag=tag, value=0.1813 + 0.0517 * place, is_rank=False
        )
        for tag, place in zip(tags, order, strict=True)
    )
    return collection


def official_of(collection) -> dict[str, float]:
    return dict(collection.official_scores.values_list("run_tag", "value"))


def figures(collection) -> list[tuple[str, dict[str, str]]]:
    return [
        (reverse(name, args=[collection.slug]), parameters)
        for name, each in FIGURES.items()
        for parameters in each
    ]


def test_whoever_sees_names_sees_official_scores(raced, owner, client_of):
    """The attack finds them where they are shown: on the board, in its scatter and in the files of Sure."""
    Membership.objects.create(user=owner, collection=raced, role=Role.ORGANIZER)
    shown = {tag: tag for tag in official_of(raced)}
    found = [
        name
        for name, text in texts(client_of(owner), figures(raced)).items()
        if attack(text, shown, official_of(raced))
    ]
    for part in ("order.tsv", "order.svg", "leaderboards/ {'measure'"):
        assert any(part in name for name in found), part


def test_no_figure_and_no_file_gives_names_away(raced, viewer, client_of):
    """An assessor, who opens more than a viewer and knows runs by the same names."""
    Membership.objects.create(user=viewer, collection=raced, role=Role.ASSESSOR)
    official = official_of(raced)
    shown = {tag: run_pseudonym(raced.name_salt, tag) for tag in official}
    pages = [(route.address({"slug": raced.slug}), {}) for route in routes() if route.parameters == ("slug",)]
    answers = texts(client_of(viewer), [*pages, *figures(raced)])
    assert sum(name in text for text in answers.values() for name in list(shown.values())[:1]) > 5
    for name, text in answers.items():
        assert BOARD not in text.replace(f"official:{BOARD}", ""), name
        assert not attack(text, shown, official), name
        assert not any(f"{value:.4f}" in text for value in official.values()), name


def test_an_organizer_who_shows_names_shows_the_official_board(raced, viewer, client_of):
    Membership.objects.create(user=viewer, collection=raced, role=Role.VIEWER)
    sure = reverse("leaderboards:sure", args=[raced.slug], query={"table": "official"})
    assert "Hidden while you know runs by pseudonyms" in client_of(viewer).get(sure).content.decode()
    raced.shows_run_tags = True
    raced.save()
    page = client_of(viewer).get(sure).content.decode()
    assert BOARD in page
    assert "Hidden while" not in page
