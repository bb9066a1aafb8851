"""The product, imported and set up before `tests.preloaded` forks the processes that run it."""

from __future__ import annotations

import gc
import importlib
import os


def settings() -> dict[str, object]:
    """As the environment has them now."""
    module = importlib.reload(importlib.import_module("rubricweb.settings"))
    return {name: value for name, value in vars(module).items() if name.isupper()}


def imported() -> dict[str, str]:
    """Import the product, and return what its settings were then; apps may add to them as they start."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "rubricweb.settings"
    before = {name: repr(value) for name, value in settings().items()}
    django.setup()
    from rubricweb import urls  # noqa: F401
    from rubricweb.jobs import kinds, worker  # noqa: F401

    kinds.registered()
    gc.collect()
    gc.freeze()
    return before


BEFORE = imported()
