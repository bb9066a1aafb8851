"""The provider, and who comes from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
from django.conf import settings as project
from django.test import Client
from django.urls import reverse

from tests.rubricweb.sso.openid_provider import OpenIdProvider

PASSWORD = "sign-in-password"


@pytest.fixture(scope="session")
def running_provider() -> Iterator[OpenIdProvider]:
    made = OpenIdProvider(urlsplit(project.SSO.issuer).port, project.SSO.client_id, project.SSO.secret)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(autouse=True)
def provider(running_provider: OpenIdProvider) -> OpenIdProvider:
    running_provider.begin()
    return running_provider


@pytest.fixture
def switch(settings) -> Callable[..., None]:
    """`switch(lets_in=True)`: as if the server had been started so."""

    def change(**values: bool) -> None:
        settings.SSO = replace(settings.SSO, **values)

    return change


@pytest.fixture
def person(owner):
    """The organizer, with a password and an address that the provider knows, too."""
    owner.set_password(PASSWORD)
    owner.email = "Ana@uni.example"
    owner.save()
    return owner


@pytest.fixture
def way_back(provider: OpenIdProvider) -> Callable[..., str]:
    """`way_back(client)`: go to the provider, sign in there, and return the address of the callback."""

    def go(client: Client, name: str = "sso:start", **posted: str) -> str:
        page = client.post(reverse(name), posted)
        assert page.status_code == 200, page.text
        answer = httpx.get(page["Refresh"].partition("url=")[2])
        address = urlsplit(answer.headers["Location"])
        return f"{address.path}?{address.query}"

    return go


@pytest.fixture
def arrive(way_back):
    """`arrive(client)`: sign in by the provider, and return the answer to its callback."""

    def go(client: Client, name: str = "sso:start", **posted: str):
        return client.get(way_back(client, name, **posted))

    return go
