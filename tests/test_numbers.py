"""How numbers are printed and sorted, in all sources."""

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
