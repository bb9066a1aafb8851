"""Which Chromium the browser tests drive: the one that `.ci/chromium` found or installed."""

import os
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """The path of a Chromium, or None for Playwright's own."""
    named = os.environ.get("RUBRIC_TEST_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def launch_args() -> dict[str, object]:
    """Arguments of Playwright's `launch` that work on a desktop and as root in a container."""
    args = ["--no-sandbox", "--disable-dev-shm-usage"] if os.getuid() == 0 else ["--disable-dev-shm-usage"]
    path = executable()
    return {"args": args, "executable_path": path} if path else {"args": args}
