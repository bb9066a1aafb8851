"""A topic's row in the table of a collection's page, and its HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.safestring import SafeString

from rubricweb.core.formatting import counted, number
from rubricweb.core.tags import DASH, fill, joined, percent
from rubricweb.grades.topic_ratings import TopicFacts

ROW = """
<tr>
  <th scope="row"><a href="{grid}">{query_id}</a></th>
  <td dir="auto">{text} {about}</td>
  {subtopics}
  <td class="num">{pool}</td>
  <td class="num"><span title="{kinds}">{items}</span></td>
  <td class="num">{share}</td>
  <td class="num">{failed}</td>
  <td>{flags}</td>
  <td class="nowrap"><a href="{at}" aria-label="Rubric of topic {query_id}">Rubric</a></td>
</tr>"""
ABOUT = '<span class="about small muted" title="{about}">{about}</span>'
SUBTOPICS = '<td class="num">{number}</td>'
FAILED = '<a href="{to}">{number}</a>'
FLAG = '<li><a href="{to}">{sign}{text}</a></li>'
FLAGS = '<ul class="flags">{flags}</ul>'
SIGN = SafeString('<span aria-hidden="true">⚑ </span>')
NO_FLAGS = SafeString(f'<span class="muted">{DASH}</span>')
NOTHING = SafeString("")


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """A row of the table."""

    pk: int
    query_id: str
    text: str
    about: str
    """Its narrative or description, cut to one line on the screen."""
    position: int
    subtopics: int
    pool: int
    questions: int
    nuggets: int
    facts: TopicFacts
    flagged: int
    """Open flags."""

    @property
    def items(self) -> int:
        return self.questions + self.nuggets

    @property
    def graded(self) -> int:
        return self.facts.cells - self.facts.missing

    @property
    def share(self) -> float | None:
        return self.graded / self.facts.cells if self.facts.cells else None

    @property
    def flags(self) -> int:
        facts = self.facts
        return facts.uncovered + facts.nobody + facts.spurious + facts.unknown + self.flagged


@dataclass(frozen=True, slots=True)
class TopicWriter:
    """What the rows of one table share."""

    slug: str
    bank: int
    joiner: str
    """What stands between the address of a topic and its query."""
    has_subtopics: bool

    def row(self, row: ListedTopic) -> SafeString:
        at = reverse("review:topic", args=[self.bank, row.pk])
        grid, failed = f"{at}{self.joiner}view=grid", row.facts.failed
        return fill(
            ROW,
            at=at,
            grid=grid,
            query_id=row.query_id,
            text=row.text or DASH,
            about=fill(ABOUT, about=row.about) if row.about else NOTHING,
            subtopics=fill(SUBTOPICS, number=row.subtopics) if self.has_subtopics else NOTHING,
            pool=number(row.pool),
            kinds=f"{counted(row.questions, 'question')}, {counted(row.nuggets, 'nugget')}",
            items=row.items,
            share=percent(row.share),
            failed=fill(FAILED, to=f"{grid}&show=failed", number=failed) if failed else 0,
            flags=fill(FLAGS, flags=joined(self._flags(row, grid))) if row.flags else NO_FLAGS,
        )

    def _flags(self, row: ListedTopic, grid: str) -> Iterator[SafeString]:
        facts = row.facts
        problems = f"{reverse('review:problems', args=[self.slug])}?bank={self.bank}&topic={row.pk}&kind="
        if row.flagged:
            to = f"{reverse('review:flags', args=[self.slug])}?topic={row.pk}"
            yield fill(FLAG, to=to, sign=SIGN, text=f"{row.flagged} flag{pluralize(row.flagged)}")
        if facts.uncovered:
            passages = f"{facts.uncovered} passage{pluralize(facts.uncovered)} that no question covers"
            yield fill(FLAG, to=f"{problems}uncovered", sign="", text=passages)
        for count, to, text in (
            (facts.nobody, f"{grid}&items=nobody", "never covered"),
            (facts.spurious, f"{problems}misleading", "misleading"),
            (facts.unknown if facts.unknown != row.items else 0, f"{grid}&items=unknown", "without text"),
        ):
            if count:
                yield fill(FLAG, to=to, sign="", text=f"{count} {text}")
