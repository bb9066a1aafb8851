"""What does the HTML of each page cost, beside a view that does nothing?

    bench/pages.py [--collection SLUG] [--account NAME] [--times N] [--profile PAGE]

The empty view answers one line to somebody who is signed in, behind every middleware; the bare page is what
all pages of the collection share, around nothing. Printed are, by page,
the processor's milliseconds (the least of N requests after a first one, which fills the caches), how many
times the empty view that is, the queries and the size. The pages are those of the largest rubric's first
topic. Answers are not compressed.

With RUBRIC_DATA_DIR set, the pages are of a collection there (--collection), as the account sees it; else of
the demo's, loaded into a folder that goes away. With --profile, where the time of one page goes.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import os
import pstats
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import cpu_seconds

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.test import Client

    from rubricweb.corpus.models import Collection

EMPTY, BARE = "/empty/", "/bare/"


def addresses(collection: Collection) -> dict[str, str]:
    """Return the pages' addresses by their names."""
    from django.db.models import Count
    from django.urls import reverse

    slug, topic = collection.slug, collection.topics.first()
    bank = collection.banks.annotate(size=Count("items")).order_by("-size", "pk").first()
    assert bank is not None, f"{collection} has no rubric"
    assert topic is not None, f"{collection} has no topic"
    of_topic = reverse("review:topic", args=[bank.pk, topic.pk])
    pages = {
        "empty view": EMPTY,
        "bare page": f"{BARE}{slug}/",
        "collections": reverse("home:home"),
        "home": reverse("home:collection", args=[slug]),
        "board": reverse("leaderboards:board", args=[slug]),
        "how sure": reverse("leaderboards:sure", args=[slug]),
        "grid": f"{of_topic}?view=grid",
        "rubric": f"{of_topic}?view=rubric",
        "check graders": reverse("review:verify", args=[slug, bank.pk]),
        "graders": reverse("graders:graders", args=[slug]),
        "runs": reverse("corpus:runs", args=[slug]),
        "jobs": reverse("grades:jobs", args=[slug]),
        "work": reverse("home:work", args=[slug]),
        "share": reverse("releases:share", args=[slug]),
        "help": reverse("help:page", args=["work"]),
    }
    if campaign := collection.campaigns.filter(closed_at=None).first():
        pages["queue"] = reverse("campaigns:queue", args=[slug, campaign.pk])
    return pages


def nothing(request: HttpRequest) -> HttpResponse:
    """Answer one line."""
    from django.http import HttpResponse

    return HttpResponse(f"{request.user.get_username()} is signed in.\n")


def bare(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer a page of the collection without content."""
    from django.shortcuts import render

    from rubricweb.corpus.access import collection_for

    return render(request, "base.html", {"collection": collection_for(request.user, slug)})


def measure(options: argparse.Namespace) -> None:
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection

    settings.ALLOWED_HOSTS, settings.ROOT_URLCONF = ["*"], with_empty_view()
    client = Client()
    client.force_login(User.objects.get(username=options.account))
    pages = addresses(Collection.objects.get(slug=options.collection))
    if options.profile:
        client.get(pages[options.profile])
        with cProfile.Profile() as profile:
            client.get(pages[options.profile])
        pstats.Stats(profile).sort_stats("cumulative").print_stats(100)
        return
    print(f"{'':14} {'ms':>6} {'times':>6} {'queries':>8} {'KB':>6}")
    for name, address in pages.items():
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            response = client.get(address)
        queries = len(captured)  # until the next request
        assert response.status_code == 200, (address, response.status_code)
        took = [(seconds_of(client, address), seconds_of(client, EMPTY)) for _ in range(options.times)]
        least, empty = map(min, zip(*took, strict=True))  # in turns: the machine's speed varies
        size = len(response.content) / 1024
        print(f"{name:14} {least * 1000:6.1f} {least / empty:6.1f} {queries:8} {size:6.0f}", flush=True)


def seconds_of(client: Client, address: str) -> float:
    return cpu_seconds(lambda: client.get(address))


def with_empty_view() -> Any:
    """Return the addresses of the project, and that of the empty view."""
    from types import ModuleType

    from django.urls import path

    from rubricweb import urls

    every = ModuleType("pages_urls")
    every.__dict__.update(vars(urls))
    every.__dict__["urlpatterns"] = [
        path(EMPTY[1:], nothing),
        path(f"{BARE[1:]}<slug:slug>/", bare),
        *urls.urlpatterns,
    ]
    return every


@contextlib.contextmanager
def data() -> Any:
    """Set Django up: on what RUBRIC_DATA_DIR names, else on the demo."""
    import django

    os.environ.setdefault("RUBRIC_DEBUG_PAGES", "false")  # as the demo and servers have it
    is_there = "RUBRIC_DATA_DIR" in os.environ
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("RUBRIC_DATA_DIR", folder)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
        django.setup()
        if not is_there:
            from django.core.management import call_command

            call_command("demo", "--load-only")
        yield


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", default="demo")
    parser.add_argument("--account", default="organizer")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--profile", default="")
    with data():
        measure(parser.parse_args())


if __name__ == "__main__":
    main()
