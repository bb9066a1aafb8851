"""What settings take from the environment: secrets, checks of a public server, and ways to sign in.

Without a way to sign in beside passwords nothing of django-allauth is imported, and no table of it is made.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from grading.errors import BadSecret
from grading.secret import Secret

if TYPE_CHECKING:
    from environs import Env

PUBLISHED_KEY = "insecure, for development only"
KEY_CHARACTERS = 32
DISTINCT_CHARACTERS = 10
WEAK = re.compile(r"change.?me|insecure|example|your.?secret|secret.?key|password", re.IGNORECASE)
MAKE_ONE = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(50))"'
LOCAL = re.compile(r"localhost|.*\.localhost|127\.[0-9.]+|\[?::1\]?|testserver", re.IGNORECASE)


def secret(name: str, value: str, *, is_sent_in_header: bool = False, is_hexadecimal: bool = False) -> str:
    """Return a secret without blanks around it. Raises ImproperlyConfigured, without showing its value.

    A hexadecimal one has the 64 digits of a key of HMAC-SHA256.
    """
    try:
        checked = Secret(value, name, is_sent_in_header=is_sent_in_header).value
    except BadSecret as error:
        raise ImproperlyConfigured(f"{error}.") from None
    if is_hexadecimal and not re.fullmatch(r"[0-9a-f]{64}", checked):
        raise ImproperlyConfigured(f"{name} has a key that is not 64 hexadecimal digits: copy it again.")
    return checked


def objections(*, debug: bool, secret_key: str, hosts: list[str]) -> list[str]:
    """Return why these settings must not serve `hosts`; nothing if all of them are this machine."""
    others = [host for host in hosts if not LOCAL.fullmatch(host)]
    if not others:
        return []
    problems = []
    if debug:
        problems.append("RUBRIC_DEBUG is on: its error pages show code and settings. Set RUBRIC_DEBUG=false.")
    if secret_key == PUBLISHED_KEY:
        problems.append(f"RUBRIC_SECRET_KEY is the one that is published with the source. {MAKE_ONE}")
    elif len(secret_key) < KEY_CHARACTERS:
        length = f"has {len(secret_key)} characters, and at least {KEY_CHARACTERS} are needed"
        problems.append(f"RUBRIC_SECRET_KEY {length}. {MAKE_ONE}")
    elif WEAK.search(secret_key) or len(set(secret_key)) < DISTINCT_CHARACTERS:
        problems.append(f"RUBRIC_SECRET_KEY can be guessed. {MAKE_ONE}")
    named = ", ".join(others)
    return [
        f"RUBRIC_ALLOWED_HOSTS names {named}, which others can reach. {objection}" for objection in problems
    ]


ALLAUTH = ("allauth", "allauth.account", "allauth.socialaccount", "allauth.mfa")
PROVIDER = "openid_connect"
STEPS_AHEAD = 1
"""Half minutes by which the clock of a phone may differ."""


@dataclass(frozen=True, slots=True)
class Switches:
    """The settings RUBRIC_OIDC_* and RUBRIC_SECOND_FACTOR."""

    issuer: str
    """Address of the OpenID provider; empty where nobody signs in by one."""
    client_id: str
    secret: str = field(repr=False)
    name: str
    """What people call the provider."""
    links_by_email: bool
    lets_in: bool
    has_factors: bool

    @property
    def is_on(self) -> bool:
        return bool(self.issuer) or self.has_factors

    @property
    def organization(self) -> str:
        """Return the name of the provider by which people sign in; empty where nobody does."""
        return self.name if self.issuer else ""

    @property
    def provider_id(self) -> str:
        """Return the key of the provider's accounts: another issuer may give out the same subjects."""
        return f"oidc-{hashlib.sha256(self.issuer.encode()).hexdigest()[:16]}"


def read_switches(rubric: Env, *, is_local: bool) -> Switches:
    """Return the switches of the environment. Raises ImproperlyConfigured where they cannot work."""
    switches = Switches(
        issuer=rubric.str("OIDC_URL", "").rstrip("/").removesuffix("/.well-known/openid-configuration"),
        client_id=rubric.str("OIDC_CLIENT_ID", ""),
        secret=secret("RUBRIC_OIDC_SECRET", rubric.str("OIDC_SECRET", "")),
        name=rubric.str("OIDC_NAME", "your organization"),
        links_by_email=rubric.bool("OIDC_LINK_BY_EMAIL", False),
        lets_in=rubric.bool("OIDC_LET_IN", False),
        has_factors=rubric.bool("SECOND_FACTOR", False),
    )
    if not switches.is_on:
        return switches
    if find_spec("allauth") is None:
        raise ImproperlyConfigured(
            "RUBRIC_OIDC_URL and RUBRIC_SECOND_FACTOR need django-allauth: pip install 'rubricweb[sso]'"
        )
    if switches.issuer and not (switches.client_id and switches.secret):
        raise ImproperlyConfigured("RUBRIC_OIDC_URL needs RUBRIC_OIDC_CLIENT_ID and RUBRIC_OIDC_SECRET.")
    address = urlsplit(switches.issuer)
    is_here = is_local and address.scheme == "http" and LOCAL.fullmatch(address.hostname or "")
    if switches.issuer and not (address.scheme == "https" and address.hostname) and not is_here:
        raise ImproperlyConfigured("RUBRIC_OIDC_URL must be an https address, as the provider publishes it.")
    return switches


def install_switches(rubric: Env, settings: dict[str, Any]) -> Switches:
    """Return the switches, and add what they bring to the settings; nothing where all are off."""
    switches = read_switches(rubric, is_local=settings["IS_LOCAL"])
    if not switches.is_on:
        return switches
    settings["INSTALLED_APPS"] += [*ALLAUTH, "rubricweb.sso"]
    settings["TEMPLATES"][0]["OPTIONS"]["libraries"]["sso"] = "rubricweb.sso.arrivals"
    settings["ON_LEAVING"].append("rubricweb.sso.actions.forget")
    middleware = settings["MIDDLEWARE"]
    middleware.append("allauth.account.middleware.AccountMiddleware")
    if switches.has_factors:
        authenticated = middleware.index("django.contrib.auth.middleware.AuthenticationMiddleware")
        middleware.insert(authenticated + 1, "rubricweb.sso.factors.SecondFactor")
    settings |= {
        "SOCIALACCOUNT_ADAPTER": "rubricweb.sso.provider.Adapter",
        "MFA_TOTP_TOLERANCE": STEPS_AHEAD,
        "MFA_TOTP_ISSUER": "RubricWeb",
        # Wrong attempts are counted with what was posted.
        "AXES_SENSITIVE_PARAMETERS": ["username", "ip_address", "code"],
    }
    return switches


def log_lines(level: str, form: str) -> dict[str, Any]:  # Any: as logging.config takes it
    """Return how everything is logged: on standard error, `plain` or `json`, ours from `level` on."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "plain": {
                "()": "rubricweb.core.redaction.PrivateFormatter",
                "format": "{asctime} {levelname} {name} [{reference}]: {message}",
                "style": "{",
            },
            "json": {"()": "rubricweb.core.redaction.JsonFormatter"},
        },
        "filters": {"reference": {"()": "rubricweb.core.redaction.WithReference"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": form, "filters": ["reference"]},
        },
        # One handler for all, so that the secrets are redacted in the lines of every library.
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "rubricweb": {"level": level},
            "grading": {"level": level},
            # Errors with their tracebacks; addresses that do not exist are no news.
            "django": {"level": "ERROR"},
            "django.security": {"level": "WARNING"},
            "axes": {"level": "WARNING"},
            # uvicorn keeps its own levels. What opens a link is hidden in its lines as well.
            "uvicorn": {"handlers": ["stderr"], "propagate": False},
            "uvicorn.error": {},
            "uvicorn.access": {"handlers": ["stderr"], "propagate": False},
        },
    }
