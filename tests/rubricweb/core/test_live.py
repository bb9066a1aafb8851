"""`{% live %}`: the address that a page is fetched anew from."""

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

PAGE = "http://testserver/collections/demo/?topic=1"


def rendered(method, **headers):
    request = getattr(RequestFactory(), method)("/collections/demo/restore/?all=1", headers=headers)
    request.htmx = HtmxDetails(request)
    return Template('{% load core %}{% live "#topics" "grades" %}').render(Context({"request": request}))


def test_a_page_is_fetched_from_its_own_address():
    assert rendered("get").count('hx-get="/collections/demo/restore/?all=1"') == 2


def test_what_answers_a_post_of_htmx_is_fetched_from_the_page_that_sent_it():
    """The address of the POST may take no GET."""
    html = rendered("post", HX_Request="true", HX_Current_URL=f"{PAGE}#topic-1")
    assert html.count('hx-get="/collections/demo/?topic=1"') == 2


@pytest.mark.parametrize(
    "headers", [{}, {"HX_Request": "true", "HX_Current_URL": "https://elsewhere.example/"}]
)
def test_nothing_is_fetched_where_no_address_is_known(headers):
    assert not rendered("post", **headers).strip()
