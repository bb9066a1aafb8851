"""Mail, which may fail without failing what it tells of."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.mail import send_mail

logger = logging.getLogger(__name__)


def is_set_up() -> bool:
    """Return whether the server has a mail server, so that people can be written to."""
    return bool(settings.EMAIL_HOST)


def mail(address: str, subject: str, text: str, *, about: str) -> None:
    """Mail a text; where that fails, log what it was `about`.

    Besides errors of the connection these are addresses that cannot be encoded, which are no OSError.
    """
    try:
        send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [address])
    except (OSError, ValueError) as error:
        logger.error("%s could not be mailed: %s", about, error)
