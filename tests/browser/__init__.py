"""Tests in Chromium."""

WORKED_ON = "/tests/worked-on/"
"""Where the server says which requests it works on."""
