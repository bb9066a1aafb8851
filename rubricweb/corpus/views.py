"""A collection's settings and members, and its stream of live events."""

from __future__ import annotations

import re

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import invitations, passwords, roles
from rubricweb.accounts.actions import LastOrganizer
from rubricweb.accounts.models import Invitation, Membership
from rubricweb.accounts.roles import Role
from rubricweb.core import streams
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access, actions
from rubricweb.corpus.actions import SettingsChanged, settings_digest
from rubricweb.corpus.forms import MemberForm, SettingsForm, settings_form
from rubricweb.corpus.models import Collection


@require_safe
async def collection_events(request: HtmxRequest, slug: str) -> StreamingHttpResponse:
    """Stream the names of the collection's events to its members.

    `since` is when the page was requested: if nothing happened since, the page need not refresh.
    """
    user = await request.auser()
    collection = await sync_to_async(access.collection_for)(user, slug)
    return streams.stream(collection.channel, since=seconds(request.GET.get("since", "")))


def seconds(text: str) -> float | None:
    """Return a Unix time as an address has it; None for anything else."""
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text) else None


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = settings_form(collection, request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            actions.change_settings(
                collection, form.settings(collection), by=request.user, seen=form.cleaned_data["seen"]
            )
        except SettingsChanged:
            return _conflicting_settings(request, slug)
        messages.success(request, gettext("Settings saved."))
        return redirect("corpus:settings", slug)
    return _settings_page(request, collection, form, MemberForm())


def _conflicting_settings(request: HtmxRequest, slug: str) -> HttpResponse:
    """What was sent, over the settings as they are now; to save it again is to know of them."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST.copy()
    sent["seen"] = settings_digest(collection)
    response = _settings_page(
        request, collection, settings_form(collection, sent), MemberForm(), has_conflict=True
    )
    response.status_code = 409
    return response


@require_POST
def member(request: HtmxRequest, slug: str) -> HttpResponse:
    """Change the role of a member, or invite an account."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, collection, settings_form(collection), form)
    username, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
    open_links = collection.invitations.usable().filter(by__username=username).count()
    try:
        given = invitations.give_role(
            collection, username, role=role, team=form.cleaned_data["team"], by=request.user
        )
    except LastOrganizer as reason:
        form.add_error("role", str(reason))
        return _settings_page(request, collection, settings_form(collection), form)
    messages.success(request, _given(given, username, open_links))
    return redirect("corpus:settings", slug)


def _given(given: Membership | Invitation, username: str, open_links: int) -> str:
    named = {"username": username, "role": given.get_role_display()}
    if isinstance(given, Invitation):
        return (
            gettext("If there is an account %(username)s, its person can now join as %(role)s, at Home.")
            % named
        )
    done = gettext("%(username)s is now %(role)s.") % named
    if not open_links or given.role == Role.ORGANIZER:
        return done
    closed = ngettext(
        "%(count)s invitation that %(username)s made is revoked.",
        "%(count)s invitations that %(username)s made are revoked.",
        open_links,
    )
    return f"{done} {closed % (named | {'count': open_links})}"


@require_POST
def password_link(request: HtmxRequest, slug: str, user_id: int) -> HttpResponse:
    """Show, once, a link with which a member sets a new password."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    person = get_object_or_404(collection.memberships.select_related("user"), user=user_id).user
    if not passwords.may_make_link(request.user, person):
        raise PermissionDenied(
            f"{person.username} administers this site or belongs to collections that you do not organize. "
            "Ask an administrator to make the link."
        )
    link = request.build_absolute_uri(passwords.make_link(person, collection, by=request.user))
    context = {"collection": collection, "section": "settings", "person": person, "link": link}
    response = page_or_part(request, "corpus/password_link.html", context, part="link")
    response["Cache-Control"] = "no-store"
    return response


def _settings_page(
    request: HtmxRequest,
    collection: Collection,
    form: SettingsForm,
    member_form: MemberForm,
    *,
    has_conflict: bool = False,
) -> HttpResponse:
    context = {
        "has_conflict": has_conflict,
        "collection": collection,
        "section": "settings",
        "settings_form": form,
        "member_form": member_form,
        "form": member_form if member_form.is_bound else form,
        "members": collection.memberships.select_related("user").order_by("user__username"),
    }
    return form_response(request, "corpus/settings.html", context)
