"""What is sent compressed, and what must not be."""

from __future__ import annotations

import gzip

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from django.urls import reverse

from rubricweb.core.http import shows_a_secret
from rubricweb.core.middleware import Compression

LONG = "passages x items " * 200
GZIP = {"Accept-Encoding": "gzip, br"}


def answered(response: HttpResponse | StreamingHttpResponse, **headers: str):
    request = RequestFactory(headers=headers or GZIP).get("/")
    return Compression(lambda _: response)(request)


@pytest.mark.parametrize(
    "kind", ["text/html; charset=utf-8", "text/tab-separated-values", "application/json"]
)
def test_text_is_compressed(kind):
    response = answered(HttpResponse(LONG, content_type=kind))
    assert response["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response["Vary"]
    assert gzip.decompress(response.content).decode() == LONG
    assert len(response.content) < len(LONG) / 5


def test_equal_pages_have_other_lengths():
    """Up to 100 random bytes are added, which hides what a guess saved."""
    assert len({len(answered(HttpResponse(LONG)).content) for _ in range(20)}) > 1


def test_streams_secrets_and_other_files_are_not_compressed():
    stream = StreamingHttpResponse(iter([LONG]), content_type="text/event-stream")
    secret = shows_a_secret(lambda: HttpResponse(LONG))()
    for response in (stream, secret, HttpResponse(LONG, content_type="application/zip")):
        assert "Content-Encoding" not in answered(response)
    assert "Content-Encoding" not in answered(HttpResponse(LONG), **{"Accept-Encoding": "identity"})


def test_pages_are_compressed_but_not_those_with_secret_links(client_of, owner, collection):
    browser = client_of(owner)
    page = browser.get(reverse("home:collection", args=[collection.slug]), headers=GZIP)
    links = browser.get(reverse("releases:share", args=[collection.slug]), headers=GZIP)
    assert page["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in links
