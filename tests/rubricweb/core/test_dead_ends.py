"""No page offers a link that its reader may not follow: every role walks a collection by its links."""

import pytest

from rubricweb.arena.models import Battle
from rubricweb.corpus.models import Run
from rubricweb.submissions.models import Submission
from tests.rubricweb.walking import Walk
from tests.rubricweb.worlds import blind_campaign, parameters, world
from tests.worked import judge, worked

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
ROLES = ["owner", "developer", "assessor", "viewer"]


def dead_ends(walk: Walk) -> list[str]:
    """Return the links that led to an error, each with its page."""
    return [
        f"{response.status_code} {address}, linked on {page}"
        for address, page, response in walk
        if response.status_code >= 400
    ]


@pytest.mark.parametrize("role", ROLES)
def test_a_reader_may_follow_every_link(role, collection, request, client_of):
    """A new collection that nobody has rated: its pages propose what comes first, to whom it is open."""
    judge(worked(collection))
    walk = Walk(client_of(request.getfixturevalue(role)), collection.get_absolute_url())
    assert dead_ends(walk) == []
    assert walk.opened["leaderboards:sure"]
    assert len(walk.opened) > 30


@pytest.mark.parametrize("role", ROLES)
def test_a_reader_may_follow_every_link_where_there_is_all(
    role, collection, owner, developer, viewer, request, client_of
):
    """A collection with rows of every kind: jobs of models, votes, drafts, flags, releases."""
    bank = world(collection, owner, developer)
    parameters(bank, viewer, blind_campaign(bank, by=owner, people=[viewer]))
    Submission.objects.update(is_kept=False)
    Run.objects.filter(pk=Battle.objects.get(question=None).left_id).update(state=Run.State.WITHDRAWN)
    collection.stamp += 1
    collection.save(update_fields=["stamp"])
    walk = Walk(client_of(request.getfixturevalue(role)), collection.get_absolute_url())
    assert dead_ends(walk) == []
    assert walk.opened["arena:vote"] == (role != "viewer")
    assert walk.opened["arena:judges"] == (role in ("owner", "developer"))
