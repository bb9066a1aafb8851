"""The light wheels: each holds its own package only, and runs without the server's packages and our names.

`.ci/pythons` builds them by hatchling and installs them in empty environments; here its hook runs alone.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
INTERFACE = "hatchling.builders.hooks.plugin.interface"
# fmt: off
OTHERS = {
    "bm25s", "datasketch", "django", "grading", "numpy", "pandas", "pydantic", "redis", "rest_framework",
    "rq", "rubricweb", "scipy", "torch", "transformers",
}
# fmt: on
"""What the server has, and our own names of packages there."""
NEEDED = {"client": set(), "autojudge": {"numpy", "pandas", "pydantic"}}
IMPORT_ALL = """
import importlib, pkgutil, sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[2].split(","):
            raise ModuleNotFoundError(f"{name} is not there", name=name)

sys.meta_path.insert(0, Refusal())
package = importlib.import_module(sys.argv[1])
names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{sys.argv[1]}.")]
late = []
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        late.append(f"{name}: {error.name}")
print(len(names), *late, sep="\\n")
"""


def project(name: str) -> dict[str, object]:
    return tomllib.loads((ROOT / "packaging" / name / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def hook(monkeypatch) -> ModuleType:
    """The hook, whose base class only keeps its configuration."""

    class BuildHookInterface:
        def __init__(self, config: dict[str, object]) -> None:
            self.config = config

    interface = SimpleNamespace(BuildHookInterface=BuildHookInterface)
    for parent in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", f"{INTERFACE[:-10]}"):
        monkeypatch.setitem(sys.modules, parent, SimpleNamespace())
    monkeypatch.setitem(sys.modules, INTERFACE, interface)
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "packaging/build_hook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "least"), [("client", 5), ("autojudge", 100)])
def test_light_wheel_imports_without_the_server(hook, tmp_path, name, least):
    wheel = project(name)["tool"]["hatch"]["build"]["targets"]["wheel"]
    build = hook.LightWheel(wheel["hooks"]["custom"])
    files: dict[str, dict[str, str]] = {"force_include": {}}
    build.initialize("standard", files)
    try:
        assert list(files["force_include"].values()) == [f"rubricweb_{name}"]
        (tmp_path / "nltk/tokenizers/punkt").mkdir(parents=True)
        (tmp_path / "nltk/corpora/stopwords").mkdir(parents=True)
        (tmp_path / "nltk/corpora/stopwords/english").write_text("the\n", encoding="utf-8")
        refused = ",".join(OTHERS - NEEDED[name])
        environment = {**os.environ, "PYTHONPATH": str(build.folder), "NLTK_DATA": str(tmp_path / "nltk")}
        command = [sys.executable, "-c", IMPORT_ALL, f"rubricweb_{name}", refused]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    finally:
        build.finalize("standard", files, "")
    assert done.returncode == 0, done.stderr
    count, *late = done.stdout.split("\n")[:-1]
    assert int(count) >= least
    assert late == []


@pytest.mark.parametrize("name", ["client", "autojudge"])
def test_dependencies_are_those_of_the_server(name):
    server = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {*server["dependencies"], *server["optional-dependencies"]["autojudge"]}
    light = project(name)["project"]
    assert set(light["dependencies"]) <= known
    assert light["license"] == server["license"]
    assert light["authors"] == server["authors"]
    assert light["urls"]["Source"] == server["urls"]["Source"]


def test_modules_are_renamed_where_they_are_imported_or_quoted(hook):
    names = {"grading": "rubricweb_autojudge.grading"}
    text = 'from grading import prompts\n    import grading.types\ntarget="grading.x:Y"\n# no grading here\n'
    assert hook.renamed(text, names) == (
        "from rubricweb_autojudge.grading import prompts\n    import rubricweb_autojudge.grading.types\n"
        'target="rubricweb_autojudge.grading.x:Y"\n# no grading here\n'
    )
