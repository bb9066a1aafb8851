"""What the demo can show of itself: an official leaderboard beside it, a calibration, a board, a release."""

from __future__ import annotations

from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.calibration.cards import make_card
from rubricweb.corpus.duplicates.actions import search_now
from rubricweb.corpus.models import OFFICIAL, Collection
from rubricweb.corpus.official import put_official_board
from rubricweb.demo.loading import FOLDER
from rubricweb.grades.raters import raters
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.public.actions import publish_board
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release

SIMILARITY = 0.6
"""From which on two passages are called near-duplicates."""


@transaction.atomic
def publish(collection: Collection) -> None:
    """Through the same actions as in the browser; the release is written in this process."""
    by = User.objects.get(username="organizer")
    config = raters(collection.banks.get())[0].configs[0]
    make_card(collection.banks.get(), config, by=by)
    search_now(collection, threshold=SIMILARITY, by=by)
    put_official_board(collection, FOLDER / "official.tsv", name=OFFICIAL, by=by)
    publish_board(collection, title="Everyday questions: the board", query="", is_anonymous=False, by=by)
    release = Release(
        collection=collection,
        title="Everyday questions 1.0",
        license="Apache-2.0",
        citation="Everyday questions, a demo collection written for RubricWeb.",
        has_runs=True,
    )
    work_on("release", start_release(release, by=by).pk)
