"""The people of a collection: members, invitations, links to join, links for a forgotten password."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import actions, invitations, passwords, roles
from rubricweb.accounts.invitations import Joining
from rubricweb.accounts.models import TEAM_CHARS, Invitation, Membership
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection

PAGE = "corpus/people.html"
MOST_DAYS = 90
MOST_USES = 200
EACH_THEIR_OWN = 40
"""People who may use a link for many teams, unless the organizer says another number."""


class RoleForm(forms.Form):
    """A role, with a team for participants and nobody else."""

    role = forms.ChoiceField(choices=roles.Role.choices, initial=roles.Role.VIEWER)
    team = forms.CharField(required=False, max_length=TEAM_CHARS)

    def clean(self) -> None:
        if self.cleaned_data.get("team") and self.cleaned_data.get("role") != roles.Role.PARTICIPANT:
            self.add_error("team", "Only participants have a team.")


class MemberForm(RoleForm):
    """A role for an account, by its name. Whether there is such an account is not looked up."""

    username = forms.CharField(max_length=150)
    field_order = ("username", "role", "team")

    def clean(self) -> None:
        super().clean()
        if self.cleaned_data.get("role") == roles.Role.PARTICIPANT and not self.cleaned_data.get("team"):
            self.add_error("team", "A participant needs a team.")


class LinkForm(RoleForm):
    """A link to join: the role, for how many people, how long."""

    team = forms.CharField(
        required=False,
        max_length=TEAM_CHARS,
        help_text="For participants. Leave empty for one link for many teams, each named by whoever joins.",
    )
    max_uses = forms.IntegerField(
        label="People",
        min_value=1,
        max_value=MOST_USES,
        required=False,
        help_text=f"How many can join with it: 1, or {EACH_THEIR_OWN} where each names a team.",
    )
    days = forms.IntegerField(label="Days", min_value=1, max_value=MOST_DAYS, initial=7)

    @property
    def offer(self) -> Joining:
        fields = self.cleaned_data
        is_open = fields["role"] == roles.Role.PARTICIPANT and not fields["team"]
        uses = fields["max_uses"] or (EACH_THEIR_OWN if is_open else 1)
        return Joining(roles.Role(fields["role"]), fields["team"], fields["days"], uses)


@require_safe
def people(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show who belongs to the collection, and which links let others in."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    wished = {name: request.GET[name] for name in ("role", "team") if name in request.GET}
    return _page(request, collection, link_form=LinkForm(initial=wished, auto_id="link_%s"))


@require_POST
def member(request: HtmxRequest, slug: str) -> HttpResponse:
    """Change the role of a member, or invite an account."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _page(request, collection, member_form=form)
    username, role = form.cleaned_data["username"], roles.Role(form.cleaned_data["role"])
    open_links = collection.invitations.usable().filter(by__username=username).count()
    try:
        given = invitations.give_role(
            collection, username, role=role, team=form.cleaned_data["team"], by=request.user
        )
    except actions.LastOrganizer as reason:
        form.add_error("role", str(reason))
        return _page(request, collection, member_form=form)
    messages.success(request, _given(given, username, open_links))
    return redirect("corpus:people", slug)


def _given(given: Membership | Invitation, username: str, open_links: int) -> str:
    role = given.get_role_display()
    if isinstance(given, Invitation):
        return f"If {username} has an account, they can now join as {role}, at Home."
    done = f"{username} is now {role}."
    if not open_links or given.role == roles.Role.ORGANIZER:
        return done
    if open_links == 1:
        return f"{done} 1 invitation that {username} made is revoked."
    return f"{done} {open_links} invitations that {username} made are revoked."


@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: HtmxRequest, slug: str) -> HttpResponse:
    """Make a link to join and show it, once; a form that was sent twice comes by GET."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    if request.method != "POST":
        return redirect("corpus:people", slug)
    form = LinkForm(request.POST, auto_id="link_%s")
    if not form.is_valid():
        return _page(request, collection, link_form=form)
    invitation, path = invitations.invite(collection, form.offer, by=request.user)
    return _page(request, collection, invitation=invitation, link=request.build_absolute_uri(path))


@require_POST
def revoke(request: HtmxRequest, slug: str, invitation_id: int) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    invitation = get_object_or_404(collection.invitations, pk=invitation_id)
    invitations.revoke(invitation, by=request.user)
    messages.success(request, "The link no longer works. People who joined with it stay members.")
    return redirect("corpus:people", slug)


@require_POST
def password_link(request: HtmxRequest, slug: str, user_id: int) -> HttpResponse:
    """Show, once, a link with which a member sets a new password."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    person = get_object_or_404(collection.memberships.select_related("user"), user=user_id).user
    if not passwords.may_make_link(request.user, person):
        raise PermissionDenied(
            f"{person.username} administers this site or belongs to collections that you do not organize. "
            "Ask an administrator to make the link."
        )
    link = request.build_absolute_uri(passwords.make_link(person, collection, by=request.user))
    return _page(request, collection, person=person, link=link)


@require_POST
def remove(request: HtmxRequest, slug: str, user_id: int) -> HttpResponse:
    """Remove a member; beside the name the page says what that means."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    membership = get_object_or_404(collection.memberships.select_related("user"), user=user_id)
    try:
        actions.remove_member(membership, by=request.user)
    except actions.LastOrganizer as reason:
        messages.error(request, str(reason))
        return redirect("corpus:people", slug)
    messages.success(request, f"{membership.user} is no longer a member.")
    is_own = membership.user_id == request.user.pk and not request.user.is_superuser
    return redirect("home:home") if is_own else redirect("corpus:people", slug)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member, with what a removal closes and what it leaves open."""

    membership: Membership
    invitations: list[Invitation]
    webhooks: list[Model]
    public_boards: list[Model]


def _by_maker(rows: QuerySet[Any]) -> dict[int, list[Any]]:
    made: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        made[row.by_id].append(row)
    return made


def _page(
    request: HtmxRequest,
    collection: Collection,
    *,
    member_form: MemberForm | None = None,
    link_form: LinkForm | None = None,
    **new_link: object,
) -> HttpResponse:
    member_form, link_form = member_form or MemberForm(), link_form or LinkForm(auto_id="link_%s")
    invitations = _by_maker(collection.invitations.usable())
    webhooks = _by_maker(collection.webhooks.filter(state="on"))
    boards = _by_maker(collection.public_boards.filter(closed_at=None))
    members = collection.memberships.select_related("user").order_by("user__username")
    context = {
        "collection": collection,
        "members": [
            MemberRow(member, invitations[member.user_id], webhooks[member.user_id], boards[member.user_id])
            for member in members
        ],
        "invitations": collection.invitations.with_usable().select_related("by"),
        "member_form": member_form,
        "link_form": link_form,
        "form": member_form if member_form.is_bound else link_form,
        **new_link,
    }
    response = form_response(request, PAGE, context, part="people", status=200 if new_link else 0)
    if new_link:
        response["Cache-Control"] = "no-store"
    return response
