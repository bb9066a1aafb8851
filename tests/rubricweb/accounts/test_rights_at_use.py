"""Whatever lets somebody in goes by the right that its maker has when it is used, not when it was made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.test import APIClient

from rubricweb.accounts import passwords
from rubricweb.accounts.actions import remove_member, set_role
from rubricweb.accounts.invitations import Joining, invite, invite_account
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.api.tokens import make_token
from rubricweb.corpus.models import Collection
from rubricweb.webhooks import actions as webhooks
from rubricweb.webhooks.actions import Deliveries, WebhookFields, add_webhook, send_test
from rubricweb.webhooks.models import EventType
from tests.factories import CollectionFactory, MembershipFactory, UserFactory
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

NEW = "a-quite-new-password"
ACCOUNT = {"username": "newcomer", "password1": NEW, "password2": NEW}

MEMBERS = "/collections/autumn/people/members/"


@dataclass
class Case:
    collection: Collection
    maker: User
    """One of two organizers."""
    assessor: User
    stranger: User
    """In no collection."""


@pytest.fixture
def case(collection, owner, assessor, outsider) -> Case:
    MembershipFactory(collection=collection, user=UserFactory(username="second"), role=Role.ORGANIZER)
    return Case(collection, owner, assessor, outsider)


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def _opens_a_link(case: Case) -> Callable[[], bool]:
    path = invite(case.collection, Joining(Role.ORGANIZER, "", 7, 5), by=case.maker)[1]
    return lambda: Client().get(path).status_code == 200


def _joins_with_an_account(case: Case) -> Callable[[], bool]:
    path = invite(case.collection, Joining(Role.ORGANIZER, "", 7, 5), by=case.maker)[1]
    return lambda: browser(case.stranger).post(path).status_code == 302 and case.stranger.memberships.exists()


def _joins_with_a_new_account(case: Case) -> Callable[[], bool]:
    path = invite(case.collection, Joining(Role.VIEWER, "", 7, 5), by=case.maker)[1]
    return lambda: Client().post(path, ACCOUNT).status_code == 302


def _accepts_at_home(case: Case) -> Callable[[], bool]:
    invitation = invite_account(case.collection, "outsider", role=Role.ASSESSOR, by=case.maker)
    accept = reverse("accounts:invitation-accept", args=[invitation.pk])

    def use() -> bool:
        client = browser(case.stranger)
        offered = accept in markup(client.get("/"))
        client.post(accept)
        assert offered == case.stranger.memberships.exists()
        return offered

    return use


def _sets_a_password(case: Case) -> Callable[[], bool]:
    link = passwords.make_link(case.assessor, case.collection, by=case.maker)
    return lambda: _set_password(Client(), link)


def _sets_a_password_in_a_page_that_was_open(case: Case) -> Callable[[], bool]:
    client, link = Client(), passwords.make_link(case.assessor, case.collection, by=case.maker)
    form = client.get(link, follow=True).request["PATH_INFO"]
    return lambda: client.post(form, {"new_password1": NEW, "new_password2": NEW}).status_code == 302


def _set_password(client: Client, link: str) -> bool:
    opened = client.get(link, follow=True)
    if b"new_password1" not in opened.content:
        return False
    sent = {"new_password1": NEW, "new_password2": NEW}
    return client.post(opened.request["PATH_INFO"], sent).status_code == 302


def _acts_by_a_token(case: Case) -> Callable[[], bool]:
    client, (_, text) = APIClient(), make_token(case.maker, name="nightly", scopes=["organize"], days=1)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    sent = {"role": "organizer"}
    return lambda: (
        client.post("/api/v1/collections/autumn/invitations/", sent, format="json").status_code == 201
    )


def _stays_signed_in(case: Case) -> Callable[[], bool]:
    client = browser(case.maker)
    return lambda: client.get("/collections/autumn/settings/").status_code == 200


def _hears_of_new_events(case: Case) -> Callable[[], bool]:
    wanted = WebhookFields("https://hooks.example.org/", [EventType.JOB_ENDED])
    add_webhook(case.collection, wanted, by=case.maker)
    return lambda: bool(webhooks.listening(case.collection.pk, EventType.JOB_ENDED))


def _gets_what_was_on_its_way(case: Case) -> Callable[[], bool]:
    wanted = WebhookFields("https://hooks.example.org/", [EventType.JOB_ENDED])
    send_test(add_webhook(case.collection, wanted, by=case.maker), by=case.maker)
    return lambda: Deliveries().claimable().exists()


USES = [
    _opens_a_link,
    _joins_with_an_account,
    _joins_with_a_new_account,
    _accepts_at_home,
    _sets_a_password,
    _sets_a_password_in_a_page_that_was_open,
    _acts_by_a_token,
    _stays_signed_in,
    _hears_of_new_events,
    _gets_what_was_on_its_way,
]


def _stays(case: Case) -> None:
    """Nothing happens to the maker."""


def _demoted(case: Case) -> None:
    set_role(case.maker, case.collection, role=Role.DEVELOPER, by=None)


def _removed(case: Case) -> None:
    remove_member(case.collection.memberships.get(user=case.maker), by=None)


def _deactivated(case: Case) -> None:
    User.objects.filter(pk=case.maker.pk).update(is_active=False)


@pytest.mark.parametrize("use_of", USES)
@pytest.mark.parametrize("end", [_stays, _demoted, _removed, _deactivated])
def test_a_door_is_open_as_long_as_its_maker_may_open_it(case, use_of, end):
    use = use_of(case)
    end(case)
    assert use() == (end is _stays)


OPEN_TO_ALL = {
    "password_forgotten": "it mails a link to the account's own address",
    "public": "what an organizer published is the collection's, and shows no more to who was one",
    "public_file": "as `public`, as a file",
    "session": "it says who is signed in already",
    "index": "documentation",
    "page": "documentation",
    "source": "documentation",
    "search": "documentation",
}
"""Views for people who are not signed in, besides the doors above, and why they let nobody in."""


def _views(resolver: URLResolver) -> list[Callable[..., object]]:
    views = []
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            views += _views(pattern)
        elif isinstance(pattern, URLPattern):
            views.append(pattern.callback)
    return views


def test_every_view_without_sign_in_is_a_door_that_was_tried_or_says_why_not():
    ours = [view for view in _views(get_resolver()) if view.__module__.startswith("rubricweb.")]
    unguarded = [view for view in ours if not getattr(view, "login_required", True)]
    pages = [view for view in unguarded if not hasattr(view, "cls")]  # those of the API ask HasScope
    names = {getattr(view, "view_class", view).__name__ for view in pages}
    assert names - {"join_by_link", "PasswordSet"} == OPEN_TO_ALL.keys()


SECRETS = {
    ("accounts", "Invitation", "token_digest"),
    ("webhooks", "Endpoint", "secret"),
    ("webhooks", "Endpoint", "earlier_secret"),
    ("leaderboards", "PublicBoard", "token"),
}


def test_every_column_with_a_secret_belongs_to_a_door_that_was_tried():
    """The digest of an API token is tried above."""
    names = re.compile(r"(?!is_)(.*_)?(token|secret)(_digest)?")
    found = {
        (model._meta.app_label, model.__name__, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if model.__module__.startswith("rubricweb.") and names.fullmatch(field.name)
    }
    assert found == SECRETS


def test_a_password_link_ends_when_its_account_gets_into_another_collection(case):
    link = passwords.make_link(case.assessor, case.collection, by=case.maker)
    MembershipFactory(user=case.assessor, collection=CollectionFactory(slug="spring"))
    assert not _set_password(Client(), link)


@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_a_password_link_ends_when_its_account_becomes_more_than_its_maker_may_manage(case, field):
    link = passwords.make_link(case.assessor, case.collection, by=case.maker)
    User.objects.filter(pk=case.assessor.pk).update(**{field: True})
    assert not _set_password(Client(), link)


def test_a_password_link_is_void_under_another_maker(case):
    """The name of the maker in the address is part of what is signed."""
    link = passwords.make_link(case.assessor, case.collection, by=case.maker)
    mailed = passwords.link_path(case.assessor)
    token = link.rstrip("/").rpartition("/")[2]
    forged = mailed.replace(mailed.rstrip("/").rpartition("/")[2], token)
    assert not _set_password(Client(), forged)
    assert _set_password(Client(), link)


def test_a_removal_lists_what_the_member_made(case):
    invite(case.collection, Joining(Role.ORGANIZER, "", 7, 20), by=case.maker)
    invite_account(case.collection, "outsider", role=Role.VIEWER, by=case.maker)
    add_webhook(case.collection, WebhookFields("https://hooks.example.org/", ["job.ended"]), by=case.maker)
    second = browser(User.objects.get(username="second"))
    page = re.sub(r"\s+", " ", markup(second.get("/collections/autumn/people/")))
    for words in ("0 of 20 joined by the link", "viewer: outsider", "hooks.example.org"):
        assert words in page
    answer = second.post(MEMBERS, {"username": "owner", "role": "viewer"}, follow=True)
    assert "2 invitations that owner made are revoked." in markup(answer)
    assert not case.collection.invitations.filter(revoked_at=None).exists()


def test_a_webhook_whose_maker_left_sends_on_for_who_turns_it_on(case):
    endpoint = add_webhook(
        case.collection, WebhookFields("https://hooks.example.org/", ["job.ended"]), by=case.maker
    )
    _removed(case)
    second = browser(User.objects.get(username="second"))
    assert "who no longer organizes this collection" in markup(second.get(endpoint.get_absolute_url()))
    second.post(f"{endpoint.get_absolute_url()}on/")
    assert [one.by.username for one in webhooks.listening(case.collection.pk, EventType.JOB_ENDED)] == [
        "second"
    ]
