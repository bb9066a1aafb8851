"""Tests in Chromium."""

WORKED_ON = "/tests/worked-on/"
"""Where the server says which requests it works on."""
FORGET = "/tests/forget/"
"""Where the server forgets what it knows of an earlier test, whose rows had the same keys."""
