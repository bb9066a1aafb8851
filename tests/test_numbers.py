"""How numbers, times and lists are printed, how numbers are sorted, and whence intervals come."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RULES = {
    "printed without a minus before zero": (
        r"(?<!%)(?<!%\{)\{[^{}%]*:[+]?\.[2-9]f\}",
        "use z in the format: with it -0.0004 is 0.000 (plotly's %{...} and money with {:,} are others)",
    ),
    "sorted by one helper where undefined": (
        r"nan_to_num\([^()]*nan=-?\d",
        "use undefined_last or best_first of grading.arrays: a score may be below this number",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_numbers_are(rule):
    pattern, advice = RULES[rule]
    paths = sorted(path for top in ("grading", "rubricweb") for path in (ROOT / top).rglob("*.py"))
    assert len(paths) > 500
    problems = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in paths
        for match in re.finditer(pattern, path.read_text(encoding="utf-8"))
    ]
    assert problems == [], advice


@pytest.mark.parametrize("text", ['f"{value:.3f}"', 'f"{a.b:+.4f}"', "np.nan_to_num(means, nan=-1.0)"])
def test_rules_find_what_they_are_for(text):
    assert any(re.search(pattern, text) for pattern, _ in RULES.values())


@pytest.mark.parametrize("text", ['f"{value:z.3f}"', '"%{y:.3f}<extra>"', 'f"%{{y:.3f}}"', 'f"${cost:,.2f}"'])
def test_rules_leave_other_formats_alone(text):
    assert not any(re.search(pattern, text) for pattern, _ in RULES.values())


PERCENTILES_MAY = {
    "grading/statistics/mean_intervals.py",  # defines them
    "grading/statistics/rank_intervals.py",  # correlations of boards: not functions of sums over topics
    "rubricweb/leaderboards/meta.py",
    "rubricweb/jobs/progress.py",  # the time that a job takes
}


def test_intervals_over_topics_are_no_percentiles():
    """Of 95 % percentiles held .79 to .89 with 5 topics: `mean_intervals` and `statistic_interval` hold."""
    taken = re.compile(r"np\.percentile\(|resampling import [^\n]*\binterval\b")
    paths = (path for top in ("grading", "rubricweb") for path in (ROOT / top).rglob("*.py"))
    users = {str(path.relative_to(ROOT)) for path in paths if taken.search(path.read_text(encoding="utf-8"))}
    assert users <= PERCENTILES_MAY


NOUNS = (
    "answers|assessors|attempts|calls|cells|characters|citations|claims|columns|documents|files|grades|groups|items"
    "|labels|nuggets|pairs|parts|passages|questions|ratings|rows|runs|sentences|steps|tokens|topics|votes|words"
)
PLURAL = re.compile(
    r"\{\{(?![^}]*(?:counted|percent|pluralize|config|min_grade|\.name))[^}]*\}\}"
    rf"\s+(?:(?!on|by|of)[a-z]+ )?(?:{NOUNS})\b"
)
ALWAYS_SEVERAL = {
    "campaigns/queue/_campaign_row.html assessors": "only where more than one rates a pair",
}
"""Plural nouns after a number that is never 1, by template."""


def plurals_of(text: str) -> list[str]:
    """Return plain plural nouns after a number, outside of branches for what is not 1."""
    return [match[0].split()[-1] for match in PLURAL.finditer(text)]


def test_templates_count_by_one_filter():
    """1 of 1 topics: a count is written with its noun by `counted`, or its noun by `pluralize`."""
    top = ROOT / "templates"
    plain = {
        f"{path.relative_to(top)} {noun}"
        for path in top.rglob("*.*")
        for noun in plurals_of(path.read_text(encoding="utf-8"))
    }
    assert plain == set(ALWAYS_SEVERAL)


def test_plain_plurals_are_found():
    assert plurals_of('{{ a }} of {{ b|intcomma }} topics, {{ n|counted:"run" }}, {{ n }} more rows') == [
        "topics",
        "rows",
    ]


TIMES = re.compile(r"naturaltime|\|date:(?!'[cU]')[^}]*H:i")
TIMES_OTHERWISE = {
    "submissions/_call.html",  # what a form field takes
    "submissions/_deadline.html",  # in the time zone of the call
    "campaigns/queue/_item.html",  # the time of day, within one sitting
    "campaigns/queue/_progress.html",
}


def test_pages_write_times_one_way():
    """`ago` and `moment` say the zone and carry the exact time; pages wrote them in fourteen ways."""
    folder = ROOT / "templates"
    paths = [path for path in folder.rglob("*.html") if TIMES.search(path.read_text(encoding="utf-8"))]
    assert {path.relative_to(folder).as_posix() for path in paths} == TIMES_OTHERWISE


BRANCHES = re.compile(r"\{% if [^%]*%\}((?:(?!\{% (?:if|endif)\b).)*)\{% endif %\}", re.DOTALL)
"""An innermost condition of a template, and what stands in it."""
SPACED = re.compile(r"[\w)”%]\s+[.,;:](?=\s|<|$)")
INLINE = re.compile(r"</?(?:a|b|strong|em|span|bdi|code|small|abbr|sub|sup|q|mark)\b[^<>]*>")


def printed(template: str, *, is_true: bool) -> str:
    """Return the text of a template where all its conditions are true, or none; values are an x."""
    text = re.sub(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", "", template, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}|\{% (?:now|include)\b.*?%\}", "x", text, flags=re.DOTALL)
    while (match := BRANCHES.search(text)) is not None:
        first, *others = re.split(r"\{% el(?:se|if[^%]*) ?%\}", match[1])
        has_else = "{% else %}" in match[1]
        branch = first if is_true else others[-1] if has_else else ""
        text = text[: match.start()] + branch + text[match.end() :]
    return INLINE.sub("", re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("is_true", [True, False])
def test_no_space_stands_before_a_comma(is_true):
    problems = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = printed(path.read_text(encoding="utf-8"), is_true=is_true)
        for match in SPACED.finditer(text):
            around = " ".join(text[max(0, match.start() - 30) : match.end() + 20].split())
            problems.append(f"{path.relative_to(ROOT)}: {around!r}")
    assert problems == [], "close the condition on the same line as what its comma or stop follows"


def test_spaces_before_a_comma_are_seen():
    template = "{{ n }} of 5\n  {% if failed %}, {{ failed }} failed{% endif %}. 2 calls"
    assert SPACED.search(printed(template, is_true=True))
    assert SPACED.search(printed(template, is_true=False))
    assert not SPACED.search(printed(template.replace("\n  ", ""), is_true=True))
