"""What the name of a measure stands for, in RubricWeb's and trec_eval's spelling or in that of ir_measures.

Ours: `cover-4`, `rubric_cover@10:3`, `P_20:5`, `ndcg_cut.10`. What a name leaves out is the board's.

ir_measures (MacAvaney, Macdonald and Ounis, "Streamlining Evaluation with ir-measures", ECIR 2022):
`nDCG@10`, `AP(rel=4)`, `P(rel=2)@20`. Arguments are named, blanks are free, and the first relevant label is 1
where no `rel` names one. `Rprec` and `infAP` are spelled alike in both: without arguments they are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial

from grading.errors import UnknownMeasure
from grading.measures import CUTOFF, MIN_GRADE, ItemMeasure, registry

REL, JUDGED_ONLY = "rel", "judged_only"
USUAL_REL = 1
EXAMPLES = "ndcg_cut_10, P_20:5, nDCG@10, AP(rel=2)"
USUAL_CUTOFF = "10"
_OURS = re.compile(r"([A-Za-z0-9_.]+)(?:@([0-9]{1,6}))?(?::([0-9]))?")
_FOREIGN = re.compile(r"([^\W\d]\w*)(?:\((.*)\))?(?:@(.*))?")
_BLANKS = re.compile(r"\s*([@(])\s*")
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""


@dataclass(frozen=True, slots=True)
class MeasureName:
    """What a name stands for; None is what it leaves open."""

    name: str
    """The name in the registry, with its number: `P_20`."""
    cutoff: int | None = None
    """Of a measure of items."""
    min_grade: int | None = None
    relevant: int | None = None
    """The first relevant label, where the name has one of its own; 0 for none."""
    is_judged_only: bool = False
    """Passages without a label are taken out before the run is cut."""
    spelling: str = ""
    """The name in ir_measures' spelling as typed, without blanks; empty for ours."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How ir_measures spells a measure, and what it is called here."""

    name: str
    whole: str = ""
    """Our name without a cutoff; empty where it must have one."""
    cut: str = ""
    """Our name with a cutoff, but for the number; empty where it takes none."""
    arguments: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    """The reader of each argument's value. It raises ValueError with what is expected."""
    aliases: tuple[str, ...] = ()


def _whole_number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", text):
        raise ValueError("a whole number")
    return int(text)


def _yes_or_no(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError("True or False")
    return text == "True"


def _only(text: str, *, value: str) -> None:
    """Accept the one value that is computed here, however it is written."""
    bare = text.strip(_QUOTES)
    is_number = re.fullmatch(r"[0-9]*\.?[0-9]+", value) and re.fullmatch(r"[0-9]+\.?|[0-9]*\.[0-9]+", bare)
    if bare != value and not (is_number and float(bare) == float(value)):
        raise ValueError(f"{value}, the only one that is computed here")


Arguments = Mapping[str, Callable[[str], object]]
_REL: Arguments = {REL: _whole_number}
_USUAL: Arguments = {REL: _whole_number, JUDGED_ONLY: _yes_or_no}
_NDCG: Arguments = {JUDGED_ONLY: _yes_or_no, "dcg": partial(_only, value="log2")}
_SET_P: Arguments = {**_USUAL, "relative": partial(_only, value="False")}
_SET_F: Arguments = {**_USUAL, "beta": partial(_only, value="1.0")}
_ALPHA: Arguments = {REL: _whole_number, "alpha": partial(_only, value="0.5")}
_NRBP: Arguments = {**_ALPHA, "beta": partial(_only, value="0.5")}
SPELLINGS = (
    Spelling("nDCG", "ndcg", "ndcg_cut", _NDCG, aliases=("NDCG",)),
    Spelling("AP", "map", "map_cut", _USUAL, aliases=("MAP",)),
    Spelling("P", "", "P", _USUAL, aliases=("Precision",)),
    Spelling("R", "", "recall", _USUAL, aliases=("Recall",)),
    Spelling("RR", "recip_rank", "recip_rank_cut", _USUAL, aliases=("MRR",)),
    Spelling("Rprec", "Rprec", "", _USUAL, aliases=("RPrec",)),
    Spelling("Bpref", "bpref", "", _REL, aliases=("BPref",)),
    Spelling("infAP", "infAP", "", _REL),
    Spelling("Success", "", "success", _USUAL),
    Spelling("IPrec", "", "iprec_at_recall", _USUAL),
    Spelling("SetP", "set_P", "", _SET_P),
    Spelling("SetRelP", "set_relative_P", "", _USUAL),
    Spelling("SetR", "set_recall", "", _REL),
    Spelling("SetF", "set_F", "", _SET_F),
    Spelling("SetAP", "set_map", "", _USUAL),
    Spelling("Judged", "", "judged"),
    Spelling("alpha_nDCG", "", "alpha_ndcg", _ALPHA, aliases=("\N{GREEK SMALL LETTER ALPHA}_nDCG",)),
    Spelling("StRecall", "", "normalised_cover", _REL),
    Spelling("ERR_IA", "", "err_ia", _REL),
    Spelling("NRBP", "nrbp", "", _NRBP),
)
"""Measures of ir_measures that are computed here; the first of one name here is the one that files have."""
ABSENT = {
    "ERR": "nDCG",
    "RBP": "nDCG",
    "INST": "nDCG",
    "INSQ": "nDCG",
    "Compat": "nDCG",
    "SDCG": "nDCG",
    "BPM": "P",
    "Accuracy": "P",
    "nERR_IA": "ERR_IA",
    "alpha_DCG": "alpha_nDCG",
    "nNRBP": "NRBP",
    "AP_IA": "AP",
    "P_IA": "P",
    **{f"NERR{number}": "nDCG" for number in range(8, 12)},
}
"""Measures of ir_measures that are not computed here, and the nearest one."""
COUNTS = ("NumQ", "NumRet", "NumRel", "NumRelRet")
_BY_NAME = {name: each for each in SPELLINGS for name in (each.name, *each.aliases)}
_BY_OURS = {ours: each for each in reversed(SPELLINGS) for ours in (each.whole, each.cut) if ours}


def split(text: str) -> tuple[str, ...]:
    """Return the names between commas or blanks, without blanks of their own.

    >>> split("cover-4, P (rel=2, judged_only=True) @ 20 AP")
    ('cover-4', 'P(rel=2,judged_only=True)@20', 'AP')
    """
    names, depth, quote = [""], 0, ""
    for character in _BLANKS.sub(r"\1", text):
        is_inside = bool(depth or quote)
        if quote:
            quote = "" if character == quote else quote
        elif is_inside and character in _QUOTES:
            quote = character
        else:
            depth += (character in _OPENING) - (character in _CLOSING and depth > 0)
        if not is_inside and (character == "," or character.isspace()):
            names.append("")
        elif quote or not character.isspace():
            names[-1] += character
    return tuple(filter(None, names))


@lru_cache(maxsize=1024)
def parse(text: str) -> MeasureName:
    """Return what one name stands for, in either spelling. Raise `UnknownMeasure`, which offers the nearest.

    >>> parse("P_20:5").min_grade, parse("P(rel=2)@20").relevant, parse("nDCG @ 10").name
    (5, 2, 'ndcg_cut_10')
    """
    if short := registry.short_names().get(text):
        return MeasureName(short.name, short.cutoff, short.min_grade, relevant=0)
    ours = _OURS.fullmatch(text)
    if ours and _is_ours(ours[1]):
        return _ours(text, *ours.groups())
    named = split(text)
    foreign = _FOREIGN.fullmatch(named[0]) if len(named) == 1 else None
    if foreign and (foreign[1] in _BY_NAME or foreign[1] in ABSENT or foreign[1] in COUNTS):
        return _foreign(named[0], *foreign.groups())
    offered = _offered(text)
    if ours and not (ours[2] or ours[3]) and offered not in registry.short_names():
        raise UnknownMeasure(f"no measure {text!r}{_near(offered)}; known are {registry.measure_names()}")
    examples = f"examples are {EXAMPLES}; of short names there are {', '.join(registry.short_names())}"
    raise UnknownMeasure(f"{text!r} is no measure{_near(offered)}; {examples}")


def _near(offered: str) -> str:
    return f"; the nearest is {offered}" if offered else ""


def _is_ours(name: str) -> bool:
    try:
        registry.find(name)
    except UnknownMeasure:
        return False
    return True


def _ours(text: str, name: str, cutoff: str | None, grade: str | None) -> MeasureName:
    measure = registry.find(name)
    if cutoff and not isinstance(measure.measure, ItemMeasure):
        problem = "a measure of trec_eval has its cutoff in its name, as P_20 has"
        raise UnknownMeasure(f"{text}: {problem}{_near(_offered(text))}")
    if grade and not MIN_GRADE.lowest <= int(grade) <= MIN_GRADE.highest:
        raise UnknownMeasure(f"{text}: grades count from {MIN_GRADE.lowest} to {MIN_GRADE.highest}")
    min_grade = int(grade) if grade else None
    relevant = 0 if grade else None
    return MeasureName(measure.name, int(cutoff) if cutoff else None, min_grade, relevant)


def _foreign(text: str, name: str, arguments: str | None, at: str | None) -> MeasureName:
    if name in COUNTS:
        raise UnknownMeasure(f"{text} is a count, which ranks no runs; the nearest is R@100")
    if name in ABSENT:
        nearest = _with_cutoff(ABSENT[name], at or "")
        raise UnknownMeasure(f"{text} is not computed here; the nearest is {nearest}")
    spelling = _BY_NAME[name]
    values, cutoff = _values(text, spelling, arguments, at)
    ours = _our_name(text, spelling, cutoff)
    relevant = values.get(REL, USUAL_REL)
    has_level = REL in spelling.arguments
    is_of_items = isinstance(registry.find(ours).measure, ItemMeasure)
    if is_of_items:
        if not MIN_GRADE.lowest <= relevant <= MIN_GRADE.highest:
            raise UnknownMeasure(f"{text}: grades count from {MIN_GRADE.lowest} to {MIN_GRADE.highest}")
        return MeasureName(ours, int(cutoff or CUTOFF.default), relevant, 0, spelling=text)
    if REL in values and not relevant:
        raise UnknownMeasure(f"{text}: rel is 0, expected 1 or more; the nearest is {_with_cutoff(name, at)}")
    is_judged_only = bool(values.get(JUDGED_ONLY))
    level = relevant if has_level else None
    return MeasureName(ours, relevant=level, is_judged_only=is_judged_only, spelling=text)


def _values(
    text: str, spelling: Spelling, arguments: str | None, at: str | None
) -> tuple[dict[str, int], str]:
    """Return the values of the arguments by name, and the cutoff. Raise `UnknownMeasure`."""
    values: dict[str, int] = {}
    cutoff = at or ""
    for argument in split(arguments or ""):
        name, equals, value = argument.partition("=")
        if equals and name == "cutoff" and not cutoff:
            cutoff = value
            continue
        near = f"; the nearest is {_with_cutoff(spelling.name, at, argument)}"
        if not equals:
            raise UnknownMeasure(f"{text}: {argument} has no name, expected one such as rel=2{near}")
        if name not in spelling.arguments:
            expected = ", ".join(spelling.arguments) or "none"
            raise UnknownMeasure(f"{text}: no argument {name} here, expected of {expected}{near}")
        try:
            values[name] = spelling.arguments[name](value)  # type: ignore[assignment]  # of others None
        except ValueError as error:
            raise UnknownMeasure(f"{text}: {name} is {value or 'empty'}, expected {error}{near}") from error
    if at is not None and not at:
        near = _with_cutoff(spelling.name, None)
        raise UnknownMeasure(f"{text}: no number after @; the nearest is {near}")
    return values, cutoff


def _our_name(text: str, spelling: Spelling, cutoff: str) -> str:
    """Return our name with the cutoff, or without one. Raise `UnknownMeasure` where it lacks one."""
    if not cutoff and spelling.whole:
        return spelling.whole
    nearest = _with_cutoff(spelling.name, USUAL_CUTOFF if spelling.cut else None)
    if not cutoff:
        raise UnknownMeasure(f"{text}: {spelling.name} needs a cutoff; the nearest is {nearest}")
    if not spelling.cut:
        raise UnknownMeasure(f"{text}: {spelling.name} takes no cutoff; the nearest is {nearest}")
    if _is_ours(spelling.cut):  # a measure of items, whose cutoff is no part of its name
        is_whole = re.fullmatch("[0-9]{1,6}", cutoff) is not None
        if is_whole and CUTOFF.lowest <= int(cutoff) <= CUTOFF.highest:
            return spelling.cut
    elif _is_ours(f"{spelling.cut}_{cutoff}"):
        return registry.find(f"{spelling.cut}_{cutoff}").name
    raise UnknownMeasure(f"{text}: no cutoff {cutoff} of {spelling.name}; the nearest is {nearest}")


def _with_cutoff(name: str, at: str | None, argument: str = "") -> str:
    """Return the name with a cutoff that it takes, and where an argument is a number with that as `rel`."""
    spelling = _BY_NAME[name]
    number = argument.rpartition("=")[2]
    rel = ""
    if REL in spelling.arguments and argument and "=" not in argument.replace("rel=", ""):
        rel = f"({REL}={number if re.fullmatch('[1-9][0-9]{0,3}', number) else USUAL_REL})"
    usual = "0.1" if name == "IPrec" else USUAL_CUTOFF
    is_whole = _is_ours(spelling.cut) and str(at).isdecimal()
    is_cutoff = bool(at) and (is_whole or _is_ours(f"{spelling.cut}_{at}"))
    cutoff = str(at) if is_cutoff else ("" if spelling.whole and not at else usual)
    return f"{name}{rel}{'@' + cutoff if cutoff and spelling.cut else ''}"


def _offered(text: str) -> str:
    """Return the known name that is nearest to an unknown one; empty where none is near.

    >>> _offered("nDCG10"), _offered("ndcg@10"), _offered("precision")
    ('nDCG@10', 'nDCG@10', 'P@10')
    """
    parts = re.match(r"\W*([^\W\d]+(?:_[^\W\d]+)*)\W*_?([0-9]{1,6})?", text)
    if not parts or "/" in text:
        return ""
    plain = filter(_OURS.fullmatch, registry.suggested_names())
    names = {name.casefold(): name for name in (*ABSENT, *registry.short_names(), *plain)}
    names |= {name.casefold(): name for name in _BY_NAME}
    near = get_close_matches(parts[1].casefold(), names, n=1, cutoff=0.5)
    if not near:
        return ""
    name = names[near[0]]
    name = ABSENT.get(name, name)
    return _with_cutoff(_BY_NAME[name].name, parts[2]) if name in _BY_NAME else name


def in_ir_measures(
    name: str, *, cutoff: int, min_grade: int, level: int, is_judged_only: bool = False
) -> str:
    """Return ir_measures' name of a measure under its name in the registry; empty where it has none.

    `level` is the first relevant label; of measures of items, `cutoff` and `min_grade` count.

    >>> in_ir_measures("P_20", cutoff=20, min_grade=4, level=2)
    'P(rel=2)@20'
    """
    named = registry.find(name)
    spelling = _BY_OURS.get(named.measure.name)
    if spelling is None:
        return ""
    is_of_items = isinstance(named.measure, ItemMeasure)
    if is_of_items and not spelling.cut and cutoff < CUTOFF.default:  # NRBP looks at all ranks
        return ""
    number: object = cutoff if is_of_items and spelling.cut else named.cutoff
    if named.measure.name == "iprec_at_recall":
        number = named.share
    rel = min_grade if is_of_items else level
    arguments = [f"{REL}={rel}"] if REL in spelling.arguments and rel != USUAL_REL else []
    arguments += [f"{JUDGED_ONLY}=True"] if is_judged_only else []
    inside = f"({','.join(arguments)})" if arguments else ""
    return f"{spelling.name}{inside}{'' if number is None else f'@{number}'}"
