"""The OpenID provider of this server, by django-allauth: PKCE, state and nonce, ID tokens with signatures."""

from __future__ import annotations

import hmac
import logging
import secrets
from http import HTTPStatus
from typing import Any, NoReturn

import jwt
import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from rubricweb.core import errors
from rubricweb.core.environment import PROVIDER

logger = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of signatures; none of them is made with a secret that this server has, too."""
BROKEN = (
    requests.RequestException,
    OAuth2Error,
    ImproperlyConfigured,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
)
"""What django-allauth raises where the provider is away or answers with something else than it should."""

Claims = dict[str, Any]  # of an ID token: JSON


class ProviderConnection(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no types
    """What is fetched from the provider; more of it is checked than django-allauth does by itself."""

    @property
    def openid_config(self) -> Claims:
        """Return the discovery document, which must be of the issuer that the settings name."""
        config: Claims = super().openid_config
        if str(config["issuer"]).rstrip("/") != settings.SSO.issuer:
            raise OAuth2Error("the discovery document is of another issuer")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("sso:callback"))

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """Return the login of whom the ID token names, with its `claims`."""
        claims = self._verified(app, kwargs["response"]["id_token"])
        if "email" not in claims and "userinfo_endpoint" in self.openid_config:
            more = self._fetch_user_info(token.token)
            if more["sub"] != claims["sub"]:
                raise OAuth2Error("the user info is of somebody else")
            claims = more | claims
        login = self.get_provider().sociallogin_from_response(request, claims)
        login.claims = claims
        return login

    def _verified(self, app: SocialApp, id_token: str) -> Claims:
        """Return the claims of a token that the provider signed, for us, and that is not over."""
        try:
            algorithm = jwt.get_unverified_header(id_token)["alg"]
        except jwt.PyJWTError as error:
            raise OAuth2Error("no ID token") from error
        if algorithm not in ALGORITHMS:
            raise OAuth2Error("the signature is of another kind")
        claims: Claims = jwtkit.verify_and_decode(
            credential=id_token,
            keys_url=self.openid_config["jwks_uri"],
            issuer=self.openid_config["issuer"],
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        parties = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if "exp" not in claims or claims.get("azp", parties[0]) != app.client_id:
            raise OAuth2Error("the ID token never ends, or was made for another client")
        if not isinstance(claims["sub"], str):
            raise OAuth2Error("the ID token names nobody")
        return claims


class Organization(OpenIDConnectProvider):  # type: ignore[misc]  # allauth has no types
    """The provider that the settings name. Of whom it knows, only the subject is kept."""

    oauth2_adapter_class = ProviderConnection

    def redirect(
        self,
        request: HttpRequest,
        process: str,
        next_url: str | None = None,
        data: object = None,
        **kwargs: Any,
    ) -> HttpResponse:
        nonce = secrets.token_urlsafe(32)
        return super().redirect(  # type: ignore[no-any-return]
            request, process, next_url, data, auth_params={"nonce": nonce}, nonce=nonce, **kwargs
        )

    def extract_extra_data(self, data: Claims) -> Claims:
        return {}


def organization(request: HttpRequest) -> Organization:
    """Return the provider; nothing is fetched from it yet."""
    app = SocialApp(
        provider=PROVIDER,
        provider_id=settings.SSO.provider_id,
        name=settings.SSO.name,
        client_id=settings.SSO.client_id,
        secret=settings.SSO.secret,
        settings={"server_url": settings.SSO.issuer, "oauth_pkce_enabled": True},
    )
    return Organization(request, app=app)


def is_of_this_request(login: SocialLogin) -> bool:
    """Return whether the ID token answers the request that the browser was sent with."""
    return hmac.compare_digest(str(login.claims.get("nonce", "")).encode(), login.state["nonce"].encode())


def declined(request: HttpRequest) -> HttpResponse:
    """Answer 403 to who went to the provider and did not sign in there."""
    return errors.page(
        HTTPStatus.FORBIDDEN,
        "You were not signed in",
        f"{settings.SSO.name} sent you back without signing you in.",
        request=request,
        signs_in=True,
    )


def failed(request: HttpRequest, *, reason: str) -> HttpResponse:
    """Answer 502 where the provider did not say who this is. The reason is logged, without what it sent."""
    logger.warning("sign-in by %s failed: %s", settings.SSO.name, reason)
    return errors.page(
        HTTPStatus.BAD_GATEWAY,
        "You were not signed in",
        f"The answer of {settings.SSO.name} did not come, came too late, or was none to your request.",
        "Try again. If it happens again, tell the administrator of this server.",
        request=request,
        signs_in=True,
    )


class Arrived(Exception):
    """The provider has said who it is. Whether this person gets in is for `arrivals` to say."""

    def __init__(self, login: SocialLogin) -> None:
        super().__init__()
        self.login = login


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Where django-allauth hands over, before it makes an account or signs anybody in."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Organization:
        return organization(request)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> NoReturn:
        raise Arrived(sociallogin)

    def on_authentication_error(
        self, request: HttpRequest, provider: Organization, *args: object, **kwargs: Any
    ) -> NoReturn:
        if kwargs.get("error") == AuthError.CANCELLED:
            raise ImmediateHttpResponse(declined(request))
        reason = type(kwargs["exception"]).__name__ if kwargs.get("exception") else str(kwargs.get("error"))
        raise ImmediateHttpResponse(failed(request, reason=reason))
