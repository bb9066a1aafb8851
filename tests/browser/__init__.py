"""Tests in Chromium."""

WORKED_ON = "/tests/worked-on/"
"""Where the server says how many requests it works on."""
