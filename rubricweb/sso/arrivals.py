"""Sign in by the organization: the way to its provider and back, who gets in, and links with accounts."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django import template
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login as sign_in
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import invitations, passwords
from rubricweb.accounts.account import OwnPasswordForm, account_page, to_section
from rubricweb.accounts.models import Invitation, User
from rubricweb.core import audit, errors
from rubricweb.core.http import HtmxRequest
from rubricweb.sso import actions
from rubricweb.sso.factors import CodeForm, has_factor, is_waiting, next_address
from rubricweb.sso.provider import (
    BROKEN,
    Arrived,
    ProviderConnection,
    failed,
    is_of_this_request,
    organization,
)

if TYPE_CHECKING:
    from allauth.socialaccount.models import SocialLogin

SECTION = "organization"
"""Of the account's page."""


class SignInRefused(Exception):
    """Whom the provider knows does not get in; the text says why and what to do."""


@login_not_required
@never_cache
@require_POST
def start(request: HtmxRequest) -> HttpResponse:
    """Lead to the provider, to sign in, or to join by an invitation whose link was opened."""
    data: dict[str, object] = {}
    if token := request.POST.get("invitation"):
        if locked := passwords.refused(request, invitations.NAME):
            return locked
        invitation = invitations.invitation_of(token)
        if invitation is None:
            passwords.note_failure(request, invitations.NAME)
            return invitations.over(request)
        data = {"invitation": invitation.pk, "team": (request.POST.get("team") or "").strip()}
    return _to_provider(request, "login", data, address=request.POST.get("next", ""))


@never_cache
@require_POST
def link(request: HtmxRequest) -> HttpResponse:
    """Lead to the provider, to link whom it knows with the account that is signed in."""
    form = OwnPasswordForm(request.user, request.POST, section="link")
    if not form.is_valid():
        return account_page(request, refused=form, section="link")
    return _to_provider(request, "connect", {"person": request.user.pk})


def _to_provider(
    request: HttpRequest, process: str, data: dict[str, object], *, address: str = ""
) -> HttpResponse:
    """Answer with a page that goes on by itself: the answer to a form may not redirect to another site."""
    if not settings.SSO.issuer:
        raise Http404
    try:
        to = organization(request).redirect(request, process, next_address(request, address), data)[
            "Location"
        ]
    except BROKEN as error:
        return failed(request, reason=type(error).__name__)
    response = render(request, "sso/leave.html", {"to": to, "organization": settings.SSO.name})
    response["Refresh"] = f"0; url={to}"
    return response


@login_not_required
@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer: one that this browser was sent for, once, within ten minutes."""
    if not settings.SSO.issuer:
        raise Http404
    try:
        view = OAuth2CallbackView.adapter_view(ProviderConnection(request, settings.SSO.provider_id))
        response: HttpResponse = view(request)
    except Arrived as arrival:
        login = arrival.login
    except BROKEN as error:
        return failed(request, reason=type(error).__name__)
    else:
        return response
    if not is_of_this_request(login):
        return failed(request, reason="another nonce")
    try:
        return _linked(request, login) if login.state["process"] == "connect" else _signed_in(request, login)
    except SignInRefused as reason:
        title, is_nobody = "This does not work yet", not request.user.is_authenticated
        return errors.page(HTTPStatus.FORBIDDEN, title, str(reason), request=request, signs_in=is_nobody)
    except IntegrityError:
        return failed(request, reason="two answers for one person at once")


def _linked(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    person = request.user
    if not isinstance(person, User) or person.pk != login.state["data"]["person"]:
        raise SignInRefused("You are no longer signed in as when you began. Sign in, and link again.")
    if login.is_existing:
        raise SignInRefused("It is linked already, with this account or another one. Unlink it there first.")
    actions.link(person, login)
    messages.success(request, f"Linked. You can sign in with {settings.SSO.name} now.")
    return to_section(SECTION)


def _signed_in(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """Sign in whom the provider knows, and let them join what they came for."""
    data = login.state["data"]
    email = next((each.email for each in login.email_addresses if each.verified), "")
    invitation = Invitation.objects.usable().filter(pk=data.get("invitation")).first()
    joined_message = ""
    try:
        with transaction.atomic():
            person = _person_of(login, email, is_invited=invitation is not None)
            if locked := passwords.refused(request, person.username):
                transaction.set_rollback(True)
                return locked
            if email:
                actions.claim_invitations(person, email)
            if invitation and not is_waiting(person, request.session):
                is_new = invitations.join(invitation, person=person, team=str(data.get("team", "")))
                joined_message = invitations.joined_message(invitation, is_new=is_new)
            audit.record("signed in by organization", person, by=person, detail=settings.SSO.name)
    except invitations.InvitationOver:
        return invitations.over(request)
    except invitations.TeamTaken:
        raise SignInRefused("A team of this name already exists. Ask the organizers for its link.") from None
    sign_in(request, person, backend=invitations.BACKEND)
    if invitation is None or not joined_message:
        return HttpResponseRedirect(next_address(request, login.state.get("next", "")))
    messages.success(request, joined_message)
    return redirect(invitations.address_after_joining(invitation))


def _person_of(login: SocialLogin, email: str, *, is_invited: bool) -> User:
    """Return the account of whom the provider knows. Raises SignInRefused.

    An account is linked from its own session, or by an address that the provider has verified where the
    server says so; those of administrators never by an address. A new one is made for who is invited.
    """
    if login.is_existing:
        return _open(login.user)
    name = settings.SSO.name
    if not email:
        raise SignInRefused(
            f"Your email address is not verified at {name}. Verify it there, and sign in again."
        )
    same = list(User.objects.filter(email__iexact=email)[:2])
    if same:
        person = _open(same[0])
        if len(same) > 1 or not settings.SSO.links_by_email or person.is_staff or person.is_superuser:
            raise SignInRefused(
                f"There is an account with the address {email}. Sign in with its password, and link {name} "
                "under Your account."
            )
        actions.link(person, login)
        return person
    named = Invitation.objects.usable().filter(username__iexact=email, person=None)
    if not (is_invited or settings.SSO.lets_in or named.exists()):
        raise SignInRefused(
            f"Nobody has invited {email} yet. Ask an organizer for a link, or to invite this address under "
            "Setup, People."
        )
    return actions.make_account(login, email)


def _open(person: User) -> User:
    if not person.is_active:
        raise SignInRefused("This account is closed. Ask the administrator of this server.")
    return person


@require_POST
def unlink(request: HtmxRequest) -> HttpResponse:
    """End signing in by the provider, for who has a password."""
    if request.user.has_usable_password():
        actions.unlink(request.user)
        messages.success(request, "Unlinked. Sign in with your password from now on.")
    else:
        messages.error(
            request, "You have no password to sign in with. Set one first, by Forgot your password?"
        )
    return to_section(SECTION)


register = template.Library()
"""For the page of an account, which is of a room below."""


@register.simple_tag
def sign_in_ways(user: User) -> dict[str, Any]:
    """Return the provider's name with its form, and the state of the second factor with its form."""
    recovery = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    linked = SocialAccount.objects.filter(user=user, provider=settings.SSO.provider_id)
    return {
        "organization": settings.SSO.organization,
        "is_linked": linked.exists(),
        "link": OwnPasswordForm(user, section="link"),
        "has_factors": settings.SSO.has_factors,
        "has_factor": has_factor(user),
        "codes_left": len(RecoveryCodes(recovery).get_unused_codes()) if recovery else 0,
        "factor": CodeForm(),
    }
