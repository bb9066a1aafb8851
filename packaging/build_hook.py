"""Hatchling's hook of the light wheels: packages of this tree under names of their own.

Both light wheels are made of files that `rubricweb` has, too. Under the same names two wheels would own one
file, and whoever removed or upgraded one would break the other. So each ships its files under a name that no
other wheel has, with its imports changed to match.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TREE = Path(__file__).resolve().parents[1]
TEXTS = {".py", ".yml"}


def renamed(text: str, names: dict[str, str]) -> str:
    """Return the text with each module of `names` under its new name: where it is imported, or quoted."""
    for module, name in names.items():
        pattern = rf"(?m)(^\s*(?:>>> )?(?:from|import) |[\"'`]){re.escape(module)}(?=[.:\s\"'`])"
        text = re.sub(pattern, rf"\g<1>{name}", text)
    return text


def write_packages(packages: dict[str, str], replace: dict[str, str], folder: Path) -> None:
    """Write each package (a path of the tree) under its new path; its imports follow.

    `replace` has phrases that read otherwise in the wheel.
    """
    names = {source.replace("/", "."): target.replace("/", ".") for source, target in packages.items()}
    for source, target in packages.items():
        shutil.copytree(TREE / source, folder / target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*"):
        if path.suffix in TEXTS:
            text = renamed(path.read_text(encoding="utf-8"), names)
            for old, new in replace.items():
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")


class LightWheel(BuildHookInterface):
    """Adds what `packages` of the hook's configuration names."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rubricweb-light-"))
        write_packages(self.config["packages"], self.config.get("replace", {}), self.folder)
        for path in self.folder.iterdir():
            (path / "py.typed").touch()
            build_data["force_include"][str(path)] = path.name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.folder)
