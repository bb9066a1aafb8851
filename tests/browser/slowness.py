"""A slow machine at the end of a slow line, where the environment asks for one; and no line at all."""

from __future__ import annotations

import os
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, Page

CPU_SLOWDOWN = int(os.environ.get("TEST_CPU_SLOWDOWN", "1"))
"""How many times slower than it is the processor seems to pages."""
LATENCY_MS = int(os.environ.get("TEST_LATENCY_MS", "0"))
"""By how much each answer of the server comes late."""

_devtools: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()
"""Of the pages with a slow line: one session says all about a line, or what another said may win."""


def slowed_down(page: Page) -> Page:
    if (CPU_SLOWDOWN, LATENCY_MS) == (1, 0):
        return page
    _devtools[page] = page.context.new_cdp_session(page)
    _devtools[page].send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    set_offline(page, False)
    return page


def set_offline(page: Page, is_offline: bool) -> None:
    """Cut the page's line, or mend it."""
    devtools = _devtools.get(page)
    if devtools is None:
        page.context.set_offline(is_offline)
        return
    line = {"offline": is_offline, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1}
    devtools.send("Network.emulateNetworkConditions", line)
