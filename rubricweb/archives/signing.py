"""Who made an archive: its manifest, which has a digest of every file, is signed with a key of the server.

An archive is trusted as a dump of the database is: whoever can make one decides what becomes rows. So the
browser restores only what this server signed, or one whose key an operator lists in RUBRIC_ARCHIVE_KEYS.
"""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings

TAG = b"rubricweb.archives.key.1"
"""What the key is for: no other use of RUBRIC_SECRET_KEY makes the same."""


def own_key() -> str:
    """Return the key of this server, in hexadecimal: with it one signs in its name, so that it is a secret.

    It follows from RUBRIC_SECRET_KEY, which does not follow from it.
    """
    return hmac.new(settings.SECRET_KEY.encode(), TAG, hashlib.sha256).hexdigest()


def signature(manifest: bytes, key: str = "") -> str:
    """Return the HMAC-SHA256 of a manifest in hexadecimal, with the key of this server if none is given."""
    return hmac.new(bytes.fromhex(key or own_key()), manifest, hashlib.sha256).hexdigest()


def is_own(manifest: bytes, signed: str) -> bool:
    """Return whether the manifest was signed with the key of this server."""
    return _is_by(own_key(), manifest, signed)


def is_known(manifest: bytes, signed: str) -> bool:
    """Return whether it was signed with a key that an operator lists."""
    return any(_is_by(key, manifest, signed) for key in settings.ARCHIVE_KEYS)


def _is_by(key: str, manifest: bytes, signed: str) -> bool:
    return hmac.compare_digest(signature(manifest, key).encode(), signed.encode())
