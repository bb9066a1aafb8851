"""The house rules that a machine can check: sizes, migrations, settings, inline code in templates."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from rubricweb.core import static_files

ROOT = Path(__file__).resolve().parents[1]
FUNCTION_LINES = 60
VIEW_LINES = 30
PARAMETERS = 6
KEYWORD_PARAMETERS = 8
FILE_LINES = 400  # the aim is 300
SLIVER_LINES = 25
# fmt: off
OWN_FILE = {
    "__main__", "__init__", "access", "admin", "apps", "asgi", "convert", "formats", "forms", "models",
    "querysets", "urls", "views",
}
# fmt: on
"""Names of modules that may be small, because everybody looks for them."""
TEMPLATE_LINES = 120
WIDTH = 120
"""Of templates, scripts and styles: their formatters break neither comments nor strings nor template tags."""
JS_LINES = 1_125
CSS_BYTES = 49_500
"""What one page loads of our own at once."""
JS_LINES_IN_ALL = 1_215
CSS_BYTES_IN_ALL = 51_500
"""With what it loads when somebody first wants it: search, topics beside a screen, keys, the tour."""
HEAVY = {"torch", "transformers", "openai"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources(*tops: str) -> list[Path]:
    return sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))


def own_code() -> list[Path]:
    return [path for path in sources("grading", "rubricweb") if "migrations" not in path.parts]


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def own(kind: str) -> list[Path]:
    """The scripts ("js") or styles ("css") of the project."""
    return sorted((ROOT / "static" / kind).rglob(f"*.{kind}"))


def where(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}" + (f":{line}" if line else "")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, Function)]


def body_lines(function: Function) -> int:
    """Lines from `def` to the end, without decorators and without the docstring."""
    first = function.body[0]
    text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    docstring = first.end_lineno - first.lineno + 1 if text else 0
    return function.end_lineno - function.lineno + 1 - docstring


def parameter_counts(function: Function) -> tuple[int, int]:
    """Positional ones and all of them; `self` and `cls` are free, so are `*args` and `**kwargs`."""
    positional = [
        a.arg for a in function.args.posonlyargs + function.args.args if a.arg not in {"self", "cls"}
    ]
    return len(positional), len(positional) + len(function.args.kwonlyargs)


def is_view(path: Path, function: Function) -> bool:
    arguments = function.args.args
    return bool(arguments) and arguments[0].arg == "request" and not function.name.startswith("_")


def report(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def test_functions_are_short():
    problems = []
    for path in own_code():
        for function in functions(path):
            limit = VIEW_LINES if is_view(path, function) else FUNCTION_LINES
            if (lines := body_lines(function)) > limit:
                problems.append(
                    f"{where(path, function.lineno)} {function.name}: {lines} lines, at most {limit}"
                )
    report(problems)


def test_functions_have_few_parameters():
    problems = []
    for path in own_code():
        for function in functions(path):
            positional, total = parameter_counts(function)
            if positional > PARAMETERS or total > KEYWORD_PARAMETERS:
                problems.append(
                    f"{where(path, function.lineno)} {function.name}: {positional} positional parameters and "
                    f"{total} in all, at most {PARAMETERS} and {KEYWORD_PARAMETERS}"
                )
    report(problems)


def test_files_are_short():
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in [*own_code(), *sources("tests")]}
    report([f"{where(path)}: {n} lines, at most {FILE_LINES}" for path, n in sizes.items() if n > FILE_LINES])


def test_no_module_is_a_sliver():
    """A few lines belong beside what uses them, unless Django or every room has a file of that name."""
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in own_code()}
    report(
        [
            f"{where(path)}: {n} lines; join them to a neighbour"
            for path, n in sizes.items()
            if n < SLIVER_LINES and path.stem not in OWN_FILE and path.parent.name != "commands"
        ]
    )


def test_templates_are_short():
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in templates()}
    long = {path: n for path, n in sizes.items() if n > TEMPLATE_LINES}
    report([f"{where(path)}: {n} lines, at most {TEMPLATE_LINES}" for path, n in long.items()])


def test_trails_end_with_where_one_is():
    trail = re.compile(r"{% block trail %}(.+?){% endblock(?: trail)? %}", re.DOTALL)
    written = {path: trail.search(path.read_text(encoding="utf-8")) for path in templates()}
    report(
        [
            f"{where(path)}: a trail without a <span>"
            for path, found in written.items()
            if found and "<span" not in found[1]
        ]
    )


def test_templates_scripts_and_styles_are_narrow():
    report(
        [
            f"{where(path, number)}: {len(line)} characters, at most {WIDTH}"
            for path in [*templates(), *own("js"), *own("css")]
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if len(line) > WIDTH
        ]
    )


def test_scripts_keep_their_state_in_objects():
    """A variable of a module can be changed from anywhere in it."""
    variable = re.compile(r"^(?:let|var) (\w+)", re.MULTILINE)
    report(
        [
            f"{where(path)}: {match[1]} is a variable of the module"
            for path in own("js")
            for match in variable.finditer(path.read_text(encoding="utf-8"))
        ]
    )


def loaded(template: Path) -> set[Path]:
    """Our own files that a page of this template can load, at once or when they are first wanted.

    Those of its parents, of what it includes and of its bundles count, and what modules import.
    """
    return {ROOT / "static" / path for name in static_names(template, {}) for path in in_bundle(name)}


def static_names(template: Path, blocks: dict[str, str]) -> set[str]:
    """Names of scripts and styles; `blocks` are those that a template which extends this one fills itself."""
    text = template.read_text(encoding="utf-8")
    for name, filled in blocks.items():
        text = re.sub(rf"{{% block {name} %}}.*?{{% endblock[\w ]*%}}", filled, text, flags=re.DOTALL)
    names = set(re.findall(r"static '((?:css|js|bundles)/[^']+)'", text))
    whole = dict(re.findall(r"{% block (stylesheet|script) %}(.*?){% endblock[\w ]*%}", text, re.DOTALL))
    for parent in re.findall(r'{% extends "([^"]+)" %}', text):
        names |= static_names(ROOT / "templates" / parent, whole | blocks)
    for part in re.findall(r'{% include "([^"#]+)"', text):
        names |= static_names(ROOT / "templates" / part, {})
    return names


def in_bundle(name: str) -> set[str]:
    """The files of the bundle, or the file, with what it imports."""
    files = (static_files.SCRIPTS | static_files.STYLES).get(name.removeprefix("bundles/"), (name,))
    return {
        path for file in files for path in (static_files.imported(file) if name.endswith(".js") else [file])
    }


def loaded_on_demand() -> set[Path]:
    pattern = re.compile(r"data-(?:script|styles)=\"{% static '([^']+)'")
    names = {name for template in templates() for name in pattern.findall(template.read_text())}
    return {ROOT / "static" / name for name in names}


def test_hidden_words_begin_with_a_word():
    """Browsers put a blank before them in an accessible name, so punctuation would stand by itself."""
    begins = re.compile(r'class="visually-hidden"\s*>\s*[,.;]')
    report([where(path) for path in templates() if begins.search(path.read_text(encoding="utf-8"))])


def test_only_what_htmx_sends_asks_by_htmx():
    """`hx-confirm` of a plain form never asks; `data-confirm` does."""
    tags = re.compile(r"<[a-z]+\b(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")
    sends = re.compile(r"\shx-(?:get|post|put|patch|delete)=")
    found = {path: tags.findall(path.read_text(encoding="utf-8")) for path in templates()}
    asks = {
        path: [tag for tag in found[path] if " hx-confirm=" in f" {' '.join(tag.split())}"] for path in found
    }
    assert any(asks.values())
    report([f"{where(path)}: {tag}" for path, tags in asks.items() for tag in tags if not sends.search(tag)])


def code_lines(script: str) -> int:
    """Lines that do something: what explains them does not count, as docstrings do not."""
    lines = [line.strip() for line in script.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def test_a_page_loads_little_javascript_and_css():
    problems, later = [], loaded_on_demand()
    assert later
    for template in templates():
        in_all = loaded(template)
        limits = ((in_all - later, JS_LINES, CSS_BYTES), (in_all, JS_LINES_IN_ALL, CSS_BYTES_IN_ALL))
        for paths, most_lines, most_bytes in limits:
            texts = {path: path.read_text(encoding="utf-8") for path in paths}
            lines = sum(code_lines(text) for path, text in texts.items() if path.suffix == ".js")
            size = sum(len(text.encode()) for path, text in texts.items() if path.suffix == ".css")
            if lines > most_lines:
                problems.append(f"{where(template)}: {lines} lines of JavaScript, at most {most_lines}")
            if size > most_bytes:
                problems.append(f"{where(template)}: {size} bytes of CSS, at most {most_bytes}")
    report(problems)


def test_no_page_runs_a_module_twice():
    """A bundle has its own copy of a module: what a page loads beside its bundle may import none of them."""
    problems = []
    for template in templates():
        scripts = [in_bundle(name) for name in static_names(template, {}) if name.endswith(".js")]
        twice = {path for paths in scripts for path in paths if sum(path in other for other in scripts) > 1}
        problems += [f"{where(template)}: {path}; make it a bundle" for path in twice]
    report(problems)


def test_templates_have_no_inline_code():
    """The content security policy would refuse it in silence."""
    inline = re.compile(r"<[a-z][^<>]*\s(style|on[a-z]+)\s*=", re.IGNORECASE)
    problems = []
    for path in templates():
        text = path.read_text(encoding="utf-8")
        for match in inline.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            problems.append(f"{where(path, line)} inline {match[1]}=")
        problems += [f"{where(path)} inline <style>"] * ("<style" in text)
    report(problems)


def test_nothing_is_left_of_a_merge():
    tops = ("bench", "docs", "docker", "grading", "requirements", "rubricweb", "static", "templates", "tests")
    paths = [*ROOT.glob("*.*"), *(path for top in tops for path in (ROOT / top).rglob("*.*"))]
    kinds = {".css", ".html", ".js", ".md", ".py", ".toml", ".txt", ".yaml", ".yml"}
    texts = [path for path in paths if path.suffix in kinds]
    assert len(texts) > 1_000
    mark = re.compile(rb"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [path for path in texts if mark.search(path.read_bytes())] == []


def test_migrations_are_named():
    names = [path for path in (ROOT / "rubricweb").rglob("migrations/*.py") if "_auto_" in path.name]
    report([f"{where(path)}: say in its name what it does" for path in names])


def test_grading_never_reads_the_environment():
    texts = {path: path.read_text(encoding="utf-8") for path in sources("grading")}
    report(
        [
            f"{where(path)} reads the environment"
            for path, t in texts.items()
            if re.search(r"os\.(environ|getenv)", t)
        ]
    )


def test_heavy_libraries_are_imported_late():
    """The web process and the demo start without them."""
    problems = []
    for path in own_code():
        for node in parsed(path).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            problems += [
                f"{where(path, node.lineno)} imports {n} at the top"
                for n in names
                if n.split(".")[0] in HEAVY
            ]
    report(problems)


def test_nothing_is_imported_from_a_test_module_that_may_be_left_out():
    """Where an extra is missing such a module raises at its first line, and takes the importer along."""
    skipping = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources("tests")
        if re.search(r"^(?:\w+ = )?pytest\.importorskip", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert skipping
    imports = re.compile(r"^from (\S+) import", re.MULTILINE)
    report(
        [
            f"{where(path)} imports {name}: put what it shares into a module of its own"
            for path in sources("tests")
            for name in imports.findall(path.read_text(encoding="utf-8"))
            if name in skipping
        ]
    )


def test_no_package_exports_the_name_of_another_of_its_files_or_folders():
    """Whoever imports that file or folder would put it in the place of what the package exports."""
    report(
        [
            f"{where(init, node.lineno)}: {alias.name} is also a file or folder"
            for init in own_code()
            if init.name == "__init__.py"
            for node in parsed(init).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in {path.stem for path in init.parent.iterdir()}
            and (node.module or "").rpartition(".")[2] not in (alias.name, init.parent.name)
        ]
    )


def test_selectors_never_import_actions():
    """What a screen reads must not depend on what changes it."""
    problems = []
    for path in own_code():
        if path.stem not in {"selectors", "querysets"} and path.parent.name != "selectors":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom):
                names = {part for alias in node.names for part in f"{node.module}.{alias.name}".split(".")}
                problems += [f"{where(path, node.lineno)} imports actions"] * ("actions" in names)
    report(problems)


def settings_read() -> set[str]:
    path = ROOT / "rubricweb" / "settings.py"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    names = set(re.findall(r"""["'](RUBRIC_[A-Z_]*[A-Z]|DATABASE_URL|REDIS_URL)["']""", text))
    for reader in re.findall(r"""(\w+) = Env\(prefix=["']RUBRIC_["']\)""", text):
        names |= {
            f"RUBRIC_{name}" for name in re.findall(rf"""\b{reader}(?:\.\w+)?\(\s*["']([A-Z_]+)["']""", text)
        }
    return names


@pytest.mark.parametrize("name", [".env.example", "docs/help/server.md"])
def test_every_setting_is_documented(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"no {name} yet")
    text = path.read_text(encoding="utf-8")
    report(
        [f"{name} does not mention {setting}" for setting in sorted(settings_read()) if setting not in text]
    )


@pytest.mark.parametrize("lock", ["base", "models", "dev"])
def test_locks_bring_no_gpu_packages(lock):
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    assert not re.findall(r"^(?:nvidia|cuda|triton)\S*", text, re.MULTILINE)
    assert re.findall(r"^torch==.*$", text, re.MULTILINE) == ([] if lock == "base" else ["torch==2.13.0"])
