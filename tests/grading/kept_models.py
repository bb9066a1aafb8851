"""Tiny models that are trained once, and kept in `.cache/models` until the code that made them is another."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from tests.grading.smollm2 import COPIES

ROOT = Path(__file__).resolve().parents[2]


@cache
def digest() -> str:
    """Of what may change a model: how it is built, the prompts that it learns, and the libraries."""
    made = hashlib.sha256(" ".join(version(library) for library in ("torch", "transformers")).encode())
    code = [path for path in (ROOT / "grading").rglob("*") if path.suffix in {".py", ".toml"}]
    for path in sorted([*code, *Path(__file__).parent.glob("tiny_*.py")]):
        made.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return made.hexdigest()[:16]


def copy_model(module: str, target: Path) -> None:
    """Copy what `tests.grading.<module>` builds into the folder; one process at a time builds."""
    COPIES.mkdir(parents=True, exist_ok=True)
    kept = COPIES / f"{module}-{digest()}"
    with (COPIES / f"{module}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for older in COPIES.glob(f"{module}-*"):
                shutil.rmtree(older)
            part = COPIES / f"{module}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            import_module(f"tests.grading.{module}").build(part)
            part.rename(kept)
    shutil.copytree(kept, target, dirs_exist_ok=True)
