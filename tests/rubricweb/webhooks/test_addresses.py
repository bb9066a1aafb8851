"""Where webhooks may lead: no address of our own network, however it is written or resolved."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import httpx
import pytest
from django.core import mail as outgoing

from rubricweb.core.servers import mail
from rubricweb.webhooks import sending
from rubricweb.webhooks.sending import (
    AddressRefused,
    BadAddress,
    NotAnswered,
    Target,
    checked,
    is_public,
    post,
    target_of,
)
from rubricweb.webhooks.views import WebhookForm

REFUSED = (
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.9.9.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:93.184.216.34",
    "64:ff9b::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:5db8:d822::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
)
PUBLIC = ("93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::1.1.1.1")


@pytest.fixture
def resolver(monkeypatch):
    """`resolver(*answers)`: names resolve to each of the answers in turn, the last one for ever."""

    def resolve(*answers: list[str]):
        told = list(answers)

        def getaddrinfo(host, port, **_):
            found = told.pop(0) if len(told) > 1 else told[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

        monkeypatch.setattr(sending.socket, "getaddrinfo", getaddrinfo)

    return resolve


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_public_is_refused_by_address_and_by_name(text, resolver):
    assert not is_public(ip_address(text))
    host = f"[{text}]" if ":" in text else text
    with pytest.raises(BadAddress, match="not a public address"):
        target_of(f"https://{host}/hook")
    resolver([text])
    with pytest.raises(AddressRefused, match="not a public address"):
        checked(target_of("https://hooks.example.org/"))


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_asked(text, resolver):
    resolver([text])
    assert checked(target_of("https://hooks.example.org:8443/a?b=c")) == [ip_address(text)]


def test_one_private_address_among_public_ones_is_enough_to_refuse(resolver):
    resolver(["1.1.1.1", "10.0.0.1"])
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        checked(target_of("https://hooks.example.org/"))


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "[::ffff:7f00:1]"]
)
def test_other_ways_to_write_this_machine_are_refused(host):
    with pytest.raises((BadAddress, AddressRefused)):
        checked(target_of(f"https://{host}/"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ftp://example.org/", "Expected an address"),
        ("example.org/hook", "Expected an address"),
        ("https:///hook", "Expected an address"),
        ("http://example.org/", "must begin with https://"),
        ("https://example.org:22/", "Expected port 443 or 8443"),
        ("https://me:secret@example.org/", "must have no user name"),
        ("https://example.org/#part", "must have no user name, password or #"),
        ("https://example.org:99999/", "Expected port"),
        ("https://[::1%25eth0]/", "Expected an address"),
        ("https://exa mple.org/", "Expected an address"),
        ("https://ex\nample.org/", "not an address"),
    ],
)
def test_addresses_that_are_never_sent_to(text, words):
    with pytest.raises(BadAddress, match=words):
        target_of(text)


def test_the_setting_allows_networks_with_http_and_any_port(settings, resolver):
    settings.WEBHOOK_ALLOW = ["10.20.0.0/16", "fd00::/8"]
    resolver(["10.20.3.4"])
    assert checked(target_of("http://hooks.example.org:9000/")) == [ip_address("10.20.3.4")]
    resolver(["fd00::7"])
    assert checked(target_of("http://hooks.example.org/")) == [ip_address("fd00::7")]
    resolver(["10.21.0.1"])
    with pytest.raises(AddressRefused, match="not a public address"):
        checked(target_of("http://hooks.example.org/"))


def test_it_allows_public_machines_no_more_than_before(settings, resolver):
    settings.WEBHOOK_ALLOW = ["10.20.0.0/16"]
    resolver(["1.1.1.1"])
    with pytest.raises(AddressRefused, match="by https only"):
        checked(target_of("http://hooks.example.org/"))
    with pytest.raises(AddressRefused, match="port 443 or 8443 only"):
        checked(target_of("https://hooks.example.org:9000/"))


@pytest.mark.parametrize(
    "host", [f"{'a' * 64}.example.org", "a..b.org", "..org", f"x.{'b' * 64}", "a." * 3 + "."]
)
def test_a_name_that_cannot_be_looked_up_is_refused(host):
    """By the form and by scripts, as getaddrinfo would refuse it, which is no OSError."""
    with pytest.raises(BadAddress):
        target_of(f"https://{host}/hook")
    form = WebhookForm({"address": f"https://{host}/hook", "events": ["job.ended"]})
    assert "address" in form.errors


def test_a_name_that_was_saved_earlier_fails_as_others_do():
    target = Target(httpx.URL("https://example.org/"), f"{'a' * 64}.example.org", 443)
    with pytest.raises(OSError, match="label"):
        checked(target)
    with pytest.raises(NotAnswered):
        post(target, {}, b"{}")


def test_mail_to_a_name_that_cannot_be_encoded_is_logged_only(settings, caplog):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    for address in (f"ana@{'a' * 64}.example.org", "ana@example.org"):
        mail(address, "A webhook", "It was turned off.", about="a notice")
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "a notice could not be mailed"
    ] * 2
    assert outgoing.outbox == []
