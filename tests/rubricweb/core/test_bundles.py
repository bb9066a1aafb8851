"""Bundles have their files once, in order, and are found and collected like other static files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.base import ContentFile
from django.core.management import call_command

from rubricweb.core import static_files

FILES = {
    "js/a.js": 'import "./b.js";\nimport { one, two as second } from "./c.js";\nconst KEY = one + second;\n',
    "js/b.js": 'import { one } from "./c.js";\nconst KEY = one;\n',
    "js/c.js": "export const one = 1;\nexport async function two() {}\n",
}


@pytest.fixture
def modules(monkeypatch) -> dict[str, str]:
    files = dict(FILES)
    monkeypatch.setattr(static_files, "_text", files.__getitem__)
    monkeypatch.setattr(static_files, "HTMX", ())
    monkeypatch.setitem(static_files.SCRIPTS, "a.js", ("js/a.js",))
    return files


def test_modules_come_once_and_before_what_needs_them(modules):
    assert static_files.imported("js/a.js") == ["js/c.js", "js/b.js", "js/a.js"]
    assert re.findall(r"^// (.+)", static_files.bundle("a.js"), re.MULTILINE) == [
        "js/c.js",
        "js/b.js",
        "js/a.js",
    ]


def test_a_module_keeps_its_names_to_itself(modules):
    assert static_files.bundle("a.js").endswith(
        "// js/a.js\n"
        "const module_a = (() => {\n"
        "const { one, two: second } = module_c;\n"
        "const KEY = one + second;\n"
        "return {  };\n"
        "})();\n"
    )
    assert "async function two() {}\nreturn { one, two };\n" in static_files.bundle("a.js")


@pytest.mark.parametrize("line", ['import c from "./c.js";', "export { one };", "export default 1;"])
def test_other_syntax_is_refused_by_name(modules, line):
    modules["js/b.js"] += f"{line}\n"
    with pytest.raises(static_files.UnbundledSyntax, match=r"js/b\.js"):
        static_files.bundle("a.js")


def test_what_is_imported_when_it_is_wanted_stays(modules):
    modules["js/b.js"] += "import(address);\n"
    assert "import(address);" in static_files.bundle("a.js")


def test_a_changed_file_changes_the_bundle(modules):
    (before,) = finders.find("bundles/a.js", find_all=True)
    assert "KEY = one;" in Path(before).read_text()
    modules["js/b.js"] += "KEY.toString();\n"
    assert "KEY.toString();" in Path(finders.find("bundles/a.js")).read_text()


def test_only_bundles_are_found():
    assert finders.find("bundles/none.js") is None
    assert finders.find("css/grid.css").endswith("static/css/grid.css")


def test_a_bundle_is_stored_by_its_hash_and_names_the_font_by_its_own(tmp_path):
    font = Path(finders.find("fonts/inter.woff2")).read_bytes()
    storage = ManifestStaticFilesStorage(location=tmp_path, base_url="/static/")
    storage.save("bundles/grid.css", ContentFile(static_files.bundle("grid.css").encode()))
    storage.save("fonts/inter.woff2", ContentFile(font))
    stored = {name: (storage, name) for name in ("bundles/grid.css", "fonts/inter.woff2")}
    names = {name: hashed for name, hashed, _ in storage.post_process(stored)}
    style = (tmp_path / names["bundles/grid.css"]).read_text()
    assert names["bundles/grid.css"] != "bundles/grid.css"
    assert f'url("../{names["fonts/inter.woff2"]}")' in style


def test_collectstatic_and_whitenoise_are_told_of_every_bundle():
    listed = dict(static_files.BundleFinder().list(None))
    assert set(listed) == set(static_files.SCRIPTS | static_files.STYLES)
    assert all(storage.prefix == "bundles" and storage.exists(name) for name, storage in listed.items())


def test_collectstatic_compresses_what_is_sent_and_leaves_out_what_no_page_has(tmp_path, settings):
    """Hashed files of ours and of libraries, no copies without a hash, no source maps, no unused folders."""
    settings.STATIC_ROOT = tmp_path
    storage = {"BACKEND": "rubricweb.core.static_files.HashedStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": storage}
    call_command("collectstatic", interactive=False, verbosity=0)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    compressed = {name.removesuffix(".br") for name in names if name.endswith(".br")}
    hashed = set(json.loads((tmp_path / "staticfiles.json").read_text())["paths"].values())
    assert compressed <= hashed
    assert {name for name in hashed if name.startswith("bundles/")} <= compressed
    assert any(name.startswith("drf_spectacular_sidecar/") for name in compressed)
    assert not [name for name in compressed if name.endswith(".map")]
    assert not [name for name in names if "redoc" in name or name.startswith("rest_framework")]
