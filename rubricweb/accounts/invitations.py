"""Invitations to a collection, by a link or of an account by its name, and the pages on which people join."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.db import transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import account, passwords
from rubricweb.accounts.actions import same_team, set_role, team_names
from rubricweb.accounts.models import TEAM_CHARS, Invitation, Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit, errors
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import HtmxRequest, form_response

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection


TOKEN_BYTES = 32
ACCOUNT_DAYS = 30
"""How long an invitation of an account is open."""

NAME = "invitation"
"""Wrong links are counted under it, as wrong passwords are under an account."""
BACKEND = "django.contrib.auth.backends.ModelBackend"


@dataclass(frozen=True, slots=True)
class Joining:
    """The role and team that an invitation gives, how often and how long."""

    role: Role
    team: str
    """The team of a participant; empty for other roles."""
    days: int
    max_uses: int


class TeamTaken(Exception):
    """A link for many teams makes new ones: by the name of a team nobody gets at what it submitted."""


class InvitationOver(Exception):
    """The invitation was revoked, has expired, or was used as often as it may be."""


@transaction.atomic
def invite(collection: Collection, offer: Joining, *, by: User | None) -> tuple[Invitation, str]:
    """Return an invitation and the path of its link, which nobody can read again."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    invitation = _made(collection, offer, token, by=by)
    detail = f"{offer.role}, {offer.max_uses} uses, {offer.days} days"
    audit.record("invitation made", invitation, by=by, detail=detail)
    return invitation, reverse("accounts:join", args=[token])


@transaction.atomic
def give_role(
    collection: Collection, username: str, *, role: Role, by: User, team: str = ""
) -> Membership | Invitation:
    """Change the role of a member; ask anybody else to join. Raises LastOrganizer."""
    member = collection.memberships.select_related("user").filter(user__username=username).first()
    if member is not None:
        return set_role(member.user, collection, role=role, by=by, team=team)
    return invite_account(collection, username, role=role, by=by, team=team)


@transaction.atomic
def invite_account(
    collection: Collection, username: str, *, role: Role, by: User | None, team: str = ""
) -> Invitation:
    """Ask the person with this account to join, in place of an earlier invitation of the same name.

    Whether there is such an account shows neither in what is returned nor in the work that is done.
    """
    earlier = collection.invitations.filter(username=username, revoked_at=None)
    earlier.update(revoked_at=timezone.now())
    offer = Joining(role, team, days=ACCOUNT_DAYS, max_uses=1)
    person = User.objects.filter(username=username).first()
    invitation = _made(
        collection, offer, secrets.token_urlsafe(TOKEN_BYTES), by=by, username=username, person=person
    )
    audit.record("account invited", invitation, by=by, detail=f"{username}: {role}")
    return invitation


def _made(
    collection: Collection, offer: Joining, token: str, *, by: User | None, **of_account: object
) -> Invitation:
    invitation: Invitation = Invitation.objects.create(
        collection=collection,
        role=offer.role,
        team=same_team(offer.team, team_names(collection)),
        token_digest=_digest(token),
        by=by,
        expires_at=timezone.now() + dt.timedelta(days=offer.days),
        max_uses=offer.max_uses,
        **of_account,
    )
    return invitation


def invitation_of(token: str) -> Invitation | None:
    """Return the invitation whose link this is, if it lets somebody in now."""
    rows = Invitation.objects.usable().select_related("collection", "by")
    return rows.filter(token_digest=_digest(token)).first()


def invitations_for(person: User) -> list[Invitation]:
    """Return what the person can accept, the newest first."""
    return _usable_by(person.pk)


@compiled_once
def _usable_by(person: int) -> QuerySet[Invitation, Invitation]:
    return Invitation.objects.usable().filter(person=person).select_related("collection", "by")


@transaction.atomic
def join(invitation: Invitation, *, person: User, team: str = "") -> bool:
    """Make `person` a member. False, and no use of a link counts, for members whose role is as high already.

    `team` is the new team that a participant names where the invitation names none. Raises InvitationOver,
    also where whoever invited may do so no longer, and TeamTaken.
    """
    both = Invitation.objects.select_related("collection").select_for_update()
    list(both.filter(pk=invitation.pk))  # of two who join the collection one waits
    usable = Invitation.objects.usable().select_related("collection").filter(pk=invitation.pk).first()
    if usable is None:
        raise InvitationOver
    role = Role(usable.role)
    held = person.memberships.filter(collection=usable.collection).first()
    is_member = held is not None and Role(held.role).includes(role)
    if usable.username or not is_member:
        Invitation.objects.filter(pk=usable.pk).update(uses=F("uses") + 1)
    if is_member:
        return False
    taken = {"", *(name.casefold() for name in team_names(usable.collection))}
    if usable.names_no_team and team.casefold() in taken:
        raise TeamTaken
    set_role(person, usable.collection, role=role, by=person, team=usable.team or team)
    audit.record("invitation used", usable, by=person, detail=f"{person.username}: {role}")
    return True


def joined_message(invitation: Invitation, *, is_new: bool) -> str:
    if not is_new:
        return "You are already a member."
    return f"You have joined {invitation.collection}. Your role: {invitation.get_role_display()}."


@transaction.atomic
def decline(invitation: Invitation, *, by: User) -> None:
    """End the invitation of an account, by its person."""
    if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("invitation declined", invitation, by=by, detail=f"{by.username}: {invitation.role}")


@transaction.atomic
def revoke(invitation: Invitation, *, by: User) -> None:
    """Close the link at once. Who has joined by it stays."""
    if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("invitation revoked", invitation, by=by, detail=invitation.role)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class TeamForm(forms.Form):
    """The team of somebody who joins by a link for many teams."""

    team = forms.CharField(
        label="Name of your team",
        max_length=TEAM_CHARS,
        help_text="Shown beside your runs. Teammates join by a link from the organizers.",
    )


class NewAccountForm(account.TypedTwice, UserCreationForm):  # type: ignore[type-arg]  # generic in the stubs only
    """An account for somebody who was invited."""

    class Meta:
        model = User
        fields = ("username",)
        help_texts = {"username": "Letters, digits and @ . + - _ only."}


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join_by_link(request: HtmxRequest, token: str) -> HttpResponse:
    """Show what the invitation is to; POST joins."""
    if locked := passwords.refused(request, NAME):
        return locked
    invitation = invitation_of(token)
    if invitation is None:
        passwords.note_failure(request, NAME)
        return over(request)
    posted = request.POST if request.method == "POST" else None
    form, team_form = NewAccountForm(posted), TeamForm(posted)
    team = (request.POST.get("team") or "").strip()
    is_signed_in = bool(request.user.is_authenticated)
    is_fit = (is_signed_in or form.is_valid()) and (not invitation.names_no_team or team_form.is_valid())
    if request.method == "POST" and is_fit:
        try:
            return _joined(request, invitation, form, team=team)
        except InvitationOver:
            return over(request)
        except TeamTaken:
            team_form.add_error("team", "This team already exists. Ask the organizers for its link.")
    context = {"invitation": invitation, "collection_name": invitation.collection.name}
    context |= {
        "form": form,
        "team_form": team_form,
        "token": token,
        "organization": settings.SSO.organization,
    }
    return form_response(request, "accounts/join.html", context)


def over(request: HttpRequest) -> HttpResponse:
    """Answer 404 to whoever opens a link that is not open."""
    return errors.page(
        HTTPStatus.NOT_FOUND,
        "This invitation is not open",
        "It was used or revoked, it has expired, or its address is incomplete.",
        "Ask the person who sent it for a new one.",
        request=request,
    )


def _joined(request: HtmxRequest, invitation: Invitation, form: NewAccountForm, *, team: str) -> HttpResponse:
    """Make the new account and the membership together. Raises InvitationOver and TeamTaken."""
    is_signed_in = bool(request.user.is_authenticated)
    with transaction.atomic():
        person = request.user if is_signed_in else form.save()
        is_new = join(invitation, person=person, team=team if invitation.names_no_team else "")
    if not is_signed_in:
        login(request, person, backend=BACKEND)
    messages.success(request, joined_message(invitation, is_new=is_new))
    return redirect(address_after_joining(invitation))


def address_after_joining(invitation: Invitation) -> str:
    """Return where somebody who has joined goes on: participants submit."""
    if invitation.role == Role.PARTICIPANT:
        return reverse("submissions:submit", args=[invitation.collection.slug])
    return resolve_url(invitation.collection)


@require_POST
def invitation_accept(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    try:
        is_new = join(invitation, person=request.user)
    except InvitationOver:
        messages.error(request, "This invitation is no longer open. Ask the organizer for another.")
        return redirect("home:home")
    messages.success(request, joined_message(invitation, is_new=is_new))
    return redirect("home:home")


@require_POST
def invitation_decline(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    decline(invitation, by=request.user)
    messages.success(request, "Invitation declined.")
    return redirect("home:home")
