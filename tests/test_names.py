"""The house rules for names: words that are banned as bound names, and predicates that return bool."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.test_house import Function, functions, own_code, parsed, report, where

# fmt: off
BANNED = frozenset({
    "asked", "beside", "found", "known", "one", "people", "said", "sayings", "sent", "shown", "so_many",
    "sure", "told", "wanted", "words", "wrote",
})
# fmt: on
"""What they stand for has a name of its own: `matches`, `reply`, `requested`, `label`, `raters`."""
PREDICATES = ("is_", "has_", "can_", "may_")
THEIR_SCREENS = {
    "rubricweb/corpus/people.py people": "the screen People: members, invitations and links to join",
    "rubricweb/leaderboards/sure/page.py sure": "the screen How sure",
}
"""Views that have the name of their screen, as their route, template and address have."""
# fmt: off
NO_VERBS = frozenset({
    "a", "all", "an", "as", "at", "both", "by", "each", "for", "from", "how", "in", "including", "it", "its",
    "nobody", "none", "of", "one", "only", "people", "since", "some", "the", "their", "these", "those", "to",
    "two", "under", "what", "where", "whether", "which", "who", "whose", "why", "with", "without",
})
# fmt: on
"""What no docstring of a function or property begins with: its first word is a verb, such as "Return"."""
OWN_WHEELS = ("rubricweb/client/", "rubricweb/autojudge/")
"""They name what the server names, as the API does, and import nothing of it."""
OF_EACH_ROW = frozenset({"_can_be_clear", "has_absent_runs", "is_uncovered", "is_ungraded"})
"""Predicates of each row of an array or a query, which return a mask or an expression."""


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of all that code binds: variables, parameters, functions, aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


@cache
def banned_names() -> dict[str, str]:
    """Return "path name" -> where it is bound, for each banned name of a file."""
    places: dict[str, str] = {}
    for path in own_code():
        for line, name in bound_names(parsed(path)):
            if name.strip("_") in BANNED:
                places.setdefault(f"{where(path)} {name}", f"{where(path, line)}: {name}")
    return places


def is_predicate(function: Function) -> bool:
    return function.name.lstrip("_").startswith(PREDICATES) and function.name not in OF_EACH_ROW


def returned(function: Function) -> str:
    return ast.unparse(function.returns) if function.returns else "nothing stated"


def test_bound_names_say_what_they_are():
    report([place for name, place in banned_names().items() if name not in THEIR_SCREENS])


def test_docstrings_begin_with_a_verb():
    """As ruff's D401 says, which passes over properties."""
    report(
        [
            f"{where(path, function.lineno)} {function.name}: {summary}"
            for path in own_code()
            for function in functions(path)
            for summary in (ast.get_docstring(function) or "").splitlines()[:1]
            if (match := re.match(r"\w+", summary)) is None or match[0].lower() in NO_VERBS
        ]
    )


def shared_class_names() -> dict[str, list[str]]:
    """Return the names of several classes; a command is a `Command`, and a row of a table has the name of
    the value in `grading` that it keeps.
    """
    places: dict[str, list[str]] = defaultdict(list)
    own = [path for path in own_code() if path.parent.name != "commands"]
    for path in own:
        if not where(path).startswith(OWN_WHEELS):
            for node in parsed(path).body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(where(path))
    rows = {
        name
        for name, files in places.items()
        if len(files) == 2 and files[0].startswith("grading/") and "models" in files[1]
    }
    return {name: files for name, files in places.items() if len(files) > 1 and name not in rows}


def test_a_class_has_a_name_of_its_own():
    report([f"{name}: {', '.join(files)}" for name, files in shared_class_names().items()])


def test_every_allowed_name_is_still_bound():
    report([f"{name} is bound no more" for name in sorted(THEIR_SCREENS.keys() - banned_names().keys())])


def test_predicates_return_bool():
    report(
        [
            f"{where(path, function.lineno)} {function.name} -> {returned(function)}"
            for path in own_code()
            for function in functions(path)
            if is_predicate(function) and returned(function) != "bool"
        ]
    )
