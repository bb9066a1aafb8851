"""Requests that are too large: 413, with the limit in words."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def send(client: Client, collection, body: bytes, **headers: str):
    return client.post(
        f"/collections/{collection.slug}/people/members/",
        body,
        content_type="application/x-www-form-urlencoded",
        headers=headers,
    )


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_large_form_is_refused_with_the_limit(client_of, owner, collection, headers):
    answer = send(client_of(owner), collection, b"username=" + b"x" * 3_000_000, **headers)
    assert answer.status_code == 413
    assert "at most 2.5\xa0MB without files" in markup(answer)


def test_form_with_many_fields_is_refused_with_the_limit(client_of, owner, collection):
    answer = send(client_of(owner), collection, b"run=1&" * 100_001)
    assert answer.status_code == 413
    assert "at most 100,000 at once" in markup(answer)


def test_form_with_many_files_is_refused_with_the_limit(client_of, owner, collection, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    part = b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n'
    answer = client_of(owner).post(
        f"/collections/{collection.slug}/people/members/",
        part * 3 + b"--b--\r\n",
        content_type="multipart/form-data; boundary=b",
    )
    assert answer.status_code == 413
    assert "At most 2 files at once." in markup(answer)
