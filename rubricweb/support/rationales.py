"""Rationales of graders, and whether the graded passage holds their claims.

A label of a claim is kept like one of a citation, by its words and the passage. So it belongs to what the
grader's reply says now: after a re-grade other claims stand there, and what was said of the earlier ones
counts no more.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from grading.statistics.calibration import Estimate
from grading.statistics.mean_intervals import wilson
from grading.support import Support
from grading.support.claims import BY_LABELS, RationaleClaim, RationaleOutcome, claims, outcome_of
from grading.types import FAILED, Outcome, Purpose, text_md5
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.matrices import StampedCache
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig, MatrixStamp
from rubricweb.grades.replies import LONGEST_IN_ROW, RawReply, raw_replies
from rubricweb.support.labels import CitationKey, judge_labels
from rubricweb.support.models import CLAIM_PROMPTS, SupportJob, SupportJudge, SupportLabel

SAMPLE = 100
"""Rationales of a grader that are checked unless somebody wants more or fewer."""
MOST_SAMPLED = 1_000
READ_AT_ONCE = 100
REPLIES_LOOKED_AT = 200
"""How many replies of a grader tell whether it writes reasons."""
IN_PASSAGE = {
    Support.FULL: "in the passage",
    Support.PARTIAL: "in part",
    Support.NONE: "not in the passage",
    Support.CONTRADICTS: "contradicted by the passage",
}
CACHED_ORDERS = 16
GIVING_REASONS = (Purpose.RATE, Purpose.DIRECT)
"""The purposes whose replies may have a reason beside the rating; other replies are answers."""


@dataclass(frozen=True, slots=True)
class SampledRationales:
    """Rationales of one grader, drawn at random."""

    grader: GraderConfig
    size: int


@dataclass(frozen=True, slots=True)
class Rationale:
    """What a grader wrote about one item and passage, beside the rating."""

    topic_id: int
    doc_id: str
    claims: tuple[RationaleClaim, ...]

    @property
    def citations(self) -> Iterator[tuple[CitationKey, str]]:
        """Yield each claim that a model is asked about, as a citation of the passage, with its text."""
        for claim in self.claims:
            if not claim.restates:
                yield CitationKey(self.topic_id, claim.md5, self.doc_id), claim.text


@dataclass(frozen=True, slots=True)
class CheckedRationales:
    """One grader's rationales by one judge."""

    grader: GraderConfig
    judge: SupportJudge
    sample: int
    """How many rationales are in the sample: fewer than wanted where the grader wrote fewer."""
    outcomes: Mapping[RationaleOutcome, int]
    job: SupportJob
    """The latest that asked for them."""

    @property
    def asked_about(self) -> int:
        """Return how many say something that the question does not."""
        return self.sample - self.outcomes.get(RationaleOutcome.RESTATES, 0)

    @property
    def checked(self) -> int:
        """Return how many of these have all their claims labelled."""
        return sum(self.outcomes.get(outcome, 0) for outcome in BY_LABELS)

    @property
    def restates(self) -> Estimate:
        """Return the share of the sample, which no model decides."""
        return self._share(RationaleOutcome.RESTATES, self.sample)

    @property
    def unsupported(self) -> Estimate:
        return self._share(RationaleOutcome.UNSUPPORTED, self.checked)

    @property
    def partial(self) -> Estimate:
        return self._share(RationaleOutcome.PARTIAL, self.checked)

    @property
    def as_json(self) -> dict[str, object]:
        """Return the shares as the API and the command have them; None for NaN."""
        return {
            "grader": self.grader.fingerprint,
            "backend": self.judge.backend,
            "llm": self.judge.llm,
            "prompt": self.judge.prompt_id,
            "sample": self.sample,
            "asked_about": self.asked_about,
            "checked": self.checked,
            "unsupported": self.unsupported.as_json,
            "in_part": self.partial.as_json,
            "restates": self.restates.as_json,
        }

    def _share(self, outcome: RationaleOutcome, of: int) -> Estimate:
        """Return the share with Wilson's interval; NaN of none."""
        count = self.outcomes.get(outcome, 0)
        return Estimate(count / of if of else float("nan"), wilson(count, of))


_orders: StampedCache[tuple[int, int, int], tuple[int, ...]] = StampedCache(CACHED_ORDERS)


def rationales(
    collection: Collection, sampled: SampledRationales, topic: Topic | None = None
) -> list[Rationale]:
    """Return the sampled rationales as they are now, or those of one topic."""
    drawn = islice(_in_random_order(collection, sampled.grader), sampled.size)
    return [rationale for rationale in drawn if topic is None or rationale.topic_id == topic.pk]


def unlabelled_claims(
    collection: Collection, judge: SupportJudge | None, sampled: SampledRationales
) -> list[CitationKey]:
    """Return the claims that the judge has not labelled, each once, by topic; all for an unsaved judge."""
    labels = judge_labels(judge) if judge else {}
    return [citation for citation in _citations(collection, sampled) if citation not in labels]


def failed_claims(
    collection: Collection, judge: SupportJudge, sampled: SampledRationales
) -> list[CitationKey]:
    """Return the claims to which the judge gave a reply without a label."""
    labels = judge_labels(judge)
    return [citation for citation in _citations(collection, sampled) if labels.get(citation) == FAILED]


def texts_of_claims(collection: Collection, sampled: SampledRationales, topic: Topic) -> dict[str, str]:
    """Return the sampled claims of a topic by md5."""
    of_topic = rationales(collection, sampled, topic)
    return {citation.sentence_md5: text for rationale in of_topic for citation, text in rationale.citations}


def checked_rationales(collection: Collection) -> list[CheckedRationales]:
    """Return what is known of each grader's rationales by each judge that was asked, the latest first."""
    latest: dict[tuple[int, int], list[SupportJob]] = defaultdict(list)
    for job in _jobs(collection.pk):
        latest[job.judge_id, job.grader_id or 0].append(job)
    rows = []
    for same in latest.values():
        job, grader = same[0], same[0].grader
        if grader is None:
            continue
        drawn = rationales(collection, SampledRationales(grader, max(each.sample for each in same)))
        labels = _by_place(judge_labels(job.judge))
        outcomes = Counter(
            outcome_of(each.claims, labels.get((each.topic_id, each.doc_id), {})) for each in drawn
        )
        rows.append(CheckedRationales(grader, job.judge, len(drawn), outcomes, job))
    return rows


@compiled_once
def _jobs(collection: int) -> QuerySet[SupportJob, SupportJob]:
    jobs = SupportJob.objects.filter(judge__collection=collection).exclude(grader=None)
    return jobs.select_related("judge", "grader").order_by("-pk")


def graders_with_rationales(collection: Collection) -> list[GraderConfig]:
    """Return the graders whose replies are usually more than a rating, by name.

    A stray sentence of a model that replies with a digit is no rationale.
    """
    return [config for config in _able_to_reason(collection.pk) if _writes_reasons(collection, config)]


@compiled_once
def _able_to_reason(collection: int) -> QuerySet[GraderConfig, GraderConfig]:
    stamps = MatrixStamp.objects.filter(topic__collection=collection, grades__gt=0)
    return GraderConfig.objects.filter(pk__in=stamps.values("config"), purpose__in=GIVING_REASONS)


def _writes_reasons(collection: Collection, config: GraderConfig) -> bool:
    some = _some_replies(collection.pk, config.pk)
    long: int = sum(block is not None or chars > LONGEST_IN_ROW for block, chars in some)
    return 2 * long > len(some)


@compiled_once
def _some_replies(collection: int, grader: int) -> QuerySet[Grade, tuple[int | None, int]]:
    """Return the block and the length in its row of some of the grader's replies."""
    replied = _replied(collection, grader).filter(Q(reply_block__isnull=False) | Q(chars__gt=0))
    return replied.values_list("reply_block", "chars")[:REPLIES_LOOKED_AT]


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim of the reply to one pair."""

    text: str
    restates: bool
    label: Support | None
    """None where no model has been asked, or none named a label."""

    @property
    def label_words(self) -> str:
        if self.restates:
            return "restates the question"
        return IN_PASSAGE[self.label] if self.label is not None else "not checked"

    @property
    def is_unsupported(self) -> bool:
        return not self.restates and self.label in (Support.NONE, Support.CONTRADICTS)


def claims_of_replies(
    topic: Topic, question: str, doc_id: str, replies: Mapping[int, RawReply]
) -> dict[int, list[CheckedClaim]]:
    """Return the claims of each reply to one pair, where a model was asked about any; by the reply's key."""
    by_key = {key: of_reply for key, reply in replies.items() if (of_reply := claims(reply.text, question))}
    if not by_key:
        return {}
    rows = SupportLabel.objects.filter(
        topic=topic, doc_id=doc_id, judge__prompt_id__startswith=CLAIM_PROMPTS, label__isnull=False
    )
    labels = {row.sentence_md5: Support(row.label or 0) for row in rows.order_by("pk")}
    return {
        key: [CheckedClaim(claim.text, claim.restates, labels.get(claim.md5)) for claim in of_reply]
        for key, of_reply in by_key.items()
        if any(claim.md5 in labels for claim in of_reply)
    }


def _citations(collection: Collection, sampled: SampledRationales) -> list[CitationKey]:
    every = (citation for each in rationales(collection, sampled) for citation, _ in each.citations)
    return sorted(dict.fromkeys(every))


def _by_place(labels: Mapping[CitationKey, int]) -> dict[tuple[int, str], dict[str, int]]:
    by_place: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for (topic_id, md5, doc_id), label in labels.items():
        by_place[topic_id, doc_id][md5] = label
    return by_place


def _candidates(collection: Collection, grader: GraderConfig) -> GradeQuerySet:
    """Return the grades whose reply is long enough to be more than a rating, of passages with a text."""
    replied = _replied(collection.pk, grader.pk)
    return replied.filter(Q(reply_block__isnull=False) | Q(chars__gt=LONGEST_IN_ROW))


def _replied(collection: int, grader: int) -> GradeQuerySet:
    """Return the grades of passages with a text, with the length of each reply."""
    rows: GradeQuerySet = Grade.objects.annotate(chars=Length("reply")).filter(
        config=grader, topic__collection=collection
    )
    return rows.exclude(outcome=Outcome.FAILED).exclude(passage__text="").order_by()


def _in_random_order(collection: Collection, grader: GraderConfig) -> Iterator[Rationale]:
    """Yield the rationales in an order that says nothing of them, the same in every copy of a collection."""
    keys = _order(collection, grader)
    for start in range(0, len(keys), READ_AT_ONCE):
        some = keys[start : start + READ_AT_ONCE]
        rows = Grade.objects.filter(pk__in=some).select_related("revision", "passage")
        grades = {grade.pk: grade for grade in rows.defer("passage__text")}
        replies = raw_replies(grades.values())
        for key in some:
            grade = grades.get(key)
            stated = claims(replies[key].text, grade.revision.text) if grade else ()
            if grade and stated:
                yield Rationale(grade.topic_id, grade.passage.doc_id, stated)


def _order(collection: Collection, grader: GraderConfig) -> tuple[int, ...]:
    """Return the keys of the first grades in random order, cached by what every write to grades moves."""
    stamps = MatrixStamp.objects.filter(config=grader, topic__collection=collection).order_by("topic")
    key = collection.pk, grader.pk, hash(tuple(stamps.values_list("number", flat=True)))
    order = _orders.get(key)
    if order is None:
        rows = _candidates(collection, grader).values_list("pk", "revision__uid", "passage")
        doc_ids = dict(Passage.objects.filter(collection=collection).values_list("pk", "doc_id"))
        digests = (
            (text_md5(f"{uid} {doc_ids.get(passage, '')}"), pk) for pk, uid, passage in rows.iterator(10_000)
        )
        order = tuple(pk for _, pk in heapq.nsmallest(2 * MOST_SAMPLED, digests))
        _orders.keep(key, order)
    return order
