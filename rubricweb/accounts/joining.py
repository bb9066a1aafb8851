"""Join a collection: by an invitation's link, with a new account or one's own, or by one on the home page."""

from __future__ import annotations

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import invitations, lockout
from rubricweb.accounts.account import TypedTwice
from rubricweb.accounts.invitations import InvitationOver, TeamTaken
from rubricweb.accounts.models import TEAM_CHARS, Invitation, User
from rubricweb.accounts.roles import Role
from rubricweb.core import errors
from rubricweb.core.http import HtmxRequest, form_response

NAME = "invitation"
"""Wrong links are counted under it, as wrong passwords are under an account."""
BACKEND = "django.contrib.auth.backends.ModelBackend"


class TeamForm(forms.Form):
    """The team of somebody who joins by a link for many teams."""

    team = forms.CharField(
        label="Name of your team",
        max_length=TEAM_CHARS,
        help_text="Shown beside your runs. Teammates join by a link from the organizers.",
    )


class NewAccountForm(TypedTwice, UserCreationForm):  # type: ignore[type-arg]  # generic in the stubs only
    """An account for somebody who was invited."""

    class Meta:
        model = User
        fields = ("username",)
        help_texts = {"username": "Letters, digits and @ . + - _ only."}


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HtmxRequest, token: str) -> HttpResponse:
    """Show what the invitation is to; POST joins."""
    if locked := lockout.refused(request, NAME):
        return locked
    invitation = invitations.invitation_of(token)
    if invitation is None:
        lockout.note_failure(request, NAME)
        return _over(request)
    posted = request.POST if request.method == "POST" else None
    form, team_form = NewAccountForm(posted), TeamForm(posted)
    team = (request.POST.get("team") or "").strip()
    is_signed_in = bool(request.user.is_authenticated)
    is_fit = (is_signed_in or form.is_valid()) and (not invitation.names_no_team or team_form.is_valid())
    if request.method == "POST" and is_fit:
        try:
            return _joined(request, invitation, form, team=team)
        except InvitationOver:
            return _over(request)
        except TeamTaken:
            team_form.add_error("team", "This team already exists. Ask the organizers for its link.")
    context = {"invitation": invitation, "collection_name": invitation.collection.name}
    context |= {"form": form, "team_form": team_form}
    return form_response(request, "accounts/join.html", context)


def _over(request: HtmxRequest) -> HttpResponse:
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
        is_new = invitations.join(invitation, person=person, team=team if invitation.names_no_team else "")
    if not is_signed_in:
        login(request, person, backend=BACKEND)
    messages.success(request, invitations.joined_message(invitation, is_new=is_new))
    is_participant = invitation.role == Role.PARTICIPANT
    slug = invitation.collection.slug
    return redirect("submissions:submit", slug) if is_participant else redirect(invitation.collection)


@require_POST
def invitation_accept(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    try:
        is_new = invitations.join(invitation, person=request.user)
    except InvitationOver:
        messages.error(request, "This invitation is no longer open. Ask the organizer for another.")
        return redirect("home:home")
    messages.success(request, invitations.joined_message(invitation, is_new=is_new))
    return redirect("home:home")


@require_POST
def invitation_decline(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    invitations.decline(invitation, by=request.user)
    messages.success(request, "Invitation declined.")
    return redirect("home:home")
