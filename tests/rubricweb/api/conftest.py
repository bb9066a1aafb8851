"""Scripts with tokens."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.api.tokens import make_token
from tests.factories import gradable

AT = "/api/v1/collections/autumn/"


@pytest.fixture
def script_of():
    """`script_of(user, scopes=…, collection=…)`: a script that acts as `user`, by default in all."""

    def script(user: User, *, scopes=tuple(Token.Scope), collection=None) -> APIClient:
        client = APIClient()
        _, text = make_token(user, name="script", scopes=scopes, days=1, collection=collection)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
        return client

    return script


@pytest.fixture
def bank(collection):
    """Two topics, three passages and two questions each."""
    return gradable(collection, topics=2, passages=3, items=2)
