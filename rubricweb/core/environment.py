"""Where settings come from: the environment, then `.env`."""

from __future__ import annotations

import os
from typing import Any

from environs import Env


class Environment(Env):
    """A name with nothing behind it (`RUBRIC_DATA_DIR=`) counts as not set, as composed files write it."""

    def _get_value(self, env_key: str, default: Any) -> Any:  # Any: as Env has it, `...` for no default
        return os.environ.get(env_key) or self._environ.get(env_key) or default
