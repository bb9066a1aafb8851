"""Invite people by link, and remove members."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import invitations, roles
from rubricweb.accounts.actions import LastOrganizer, remove_member
from rubricweb.accounts.invitations import Joining
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.members.forms import InvitationForm

PAGE = "corpus/invitations.html"


@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: HtmxRequest, slug: str) -> HttpResponse:
    """The invitations of a collection; POST makes one and shows its link, once."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    wished = {name: request.GET[name] for name in ("role", "team") if name in request.GET}
    form = InvitationForm(request.POST if request.method == "POST" else None, initial=wished)
    context = {"collection": collection, "section": "settings", "form": form}
    if not (form.is_bound and form.is_valid()):
        rows = collection.invitations.with_usable().select_related("by")
        return form_response(request, PAGE, context | {"invitations": rows})
    sent = form.cleaned_data
    invitation, path = invitations.invite(
        collection, Joining(Role(sent["role"]), sent["team"], sent["days"], sent["max_uses"]), by=request.user
    )
    context |= {"invitation": invitation, "link": request.build_absolute_uri(path)}
    response = page_or_part(request, "corpus/invitation_link.html", context, part="link")
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def revoke(request: HtmxRequest, slug: str, invitation_id: int) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    invitation = get_object_or_404(collection.invitations, pk=invitation_id)
    invitations.revoke(invitation, by=request.user)
    messages.success(request, gettext("The link no longer works. People who joined with it stay members."))
    return redirect("corpus:invitations", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HtmxRequest, slug: str, user_id: int) -> HttpResponse:
    """Say what a removal means; POST removes the member."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    membership = get_object_or_404(collection.memberships.select_related("user"), user=user_id)
    if request.method == "POST":
        try:
            remove_member(membership, by=request.user)
        except LastOrganizer as reason:
            messages.error(request, str(reason))
        else:
            messages.success(request, gettext("%(user)s is no longer a member.") % {"user": membership.user})
            is_own = membership.user_id == request.user.pk and not request.user.is_superuser
            return redirect("home:home") if is_own else redirect("corpus:settings", slug)
    context = {"collection": collection, "section": "settings", "membership": membership}
    context |= _made_by(membership)
    return page_or_part(request, "corpus/member_remove.html", context, part="remove")


def _made_by(membership: Membership) -> dict[str, object]:
    """What the member has made that lets others in, or sends something to them."""
    collection, person = membership.collection, membership.user
    return {
        "invitations": collection.invitations.usable().filter(by=person),
        "webhooks": collection.webhooks.filter(by=person, state="on"),
        "public_boards": collection.public_boards.filter(by=person, closed_at=None),
    }
