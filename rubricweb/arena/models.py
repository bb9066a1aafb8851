"""Battles of two answers to a topic, the votes on them, and the questions asked in the arena.

A question is no topic: nothing of it is in pools, on boards or in files of the collection until somebody
adopts it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Greatest, Least
from django.urls import reverse

from rubricweb.corpus.models import Collection, Response, Run, Topic
from rubricweb.jobs.models import Job, LimitedJob
from rubricweb.systems.models import AnswerChunk

if TYPE_CHECKING:
    from grading.systems.pipeline import SystemSpec


SIDES = ("left", "right")


class VoteQuerySet(models.QuerySet[Any]):
    def holding(self, collection: Collection | int) -> VoteQuerySet:
        """Return the last event of each battle, unless it takes a vote back; between runs that count."""
        accepted = Run.objects.accepted().filter(collection=collection)
        held = self._last(collection)
        return held.filter(battle__left__in=accepted, battle__right__in=accepted)

    def on_fresh_answers(self, collection: Collection) -> VoteQuerySet:
        """Return the holding votes on battles whose answers were made for a question."""
        return self._last(collection).filter(battle__question__isnull=False)

    def _last(self, collection: Collection | int) -> VoteQuerySet:
        later = self.model.objects.filter(battle=OuterRef("battle"), number__gt=OuterRef("number"))
        return self.filter(~Exists(later), battle__collection=collection, is_withdrawn=False)


class Question(LimitedJob):
    """A question and the job that has it answered: twice for a battle, once for a program that asks."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="arena_questions")
    topic = models.ForeignKey(
        Topic, null=True, blank=True, on_delete=models.CASCADE, related_name="arena_questions"
    )
    """The topic whose query it is; None for a question that was typed in."""
    text = models.CharField(max_length=1_000)
    is_drawn = models.BooleanField()
    """The two systems were drawn; else the person chose them, and only the sides were drawn."""
    adopted_as = models.ForeignKey(Topic, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    """The topic that it became."""
    adopted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.text

    @property
    def query_id(self) -> str:
        return self.topic.query_id if self.topic else ""

    @property
    def is_ready(self) -> bool:
        return self.state == Job.State.DONE


class FreshAnswer(AnswerChunk):
    """One of the answers; number 0 stands left in a battle."""

    job = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="chunks")
    system = models.CharField(max_length=40, blank=True)
    """Key of `battles.SYSTEMS`; empty for a pipeline of somebody's own."""
    spec = models.JSONField()
    """A SystemSpec as `systems.models.spec_as_json` writes it."""
    request = models.JSONField(default=dict, blank=True)
    """What a program sent along, and wants back: `qid`, and `candidates` instead of retrieved ones."""

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="fresh_answer_number_once_a_question"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="fresh_answers_by_state"),)

    def __str__(self) -> str:
        return f"{self.side} answer to question {self.job_id}"

    @property
    def side(self) -> str:
        return SIDES[self.number]

    @property
    def made_by(self) -> SystemSpec:
        from rubricweb.systems.models import spec_from_json

        return spec_from_json(self.spec)


class JudgeJob(LimitedJob):
    """A model that is asked which of two stored answers is better, a pair a chunk."""

    class Pairs(models.TextChoices):
        VOTED = "voted", "pairs of answers on which people voted"
        ALL = "all", "every pair of answers"
        FAILED = "failed", "pairs whose replies named no verdict, again"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="judge_jobs")
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    prompt_id = models.CharField(max_length=100)
    """`NAME@version`, as `grading.pairwise` knows it."""
    pairs = models.CharField(max_length=10, choices=Pairs)
    longest_reply = models.PositiveIntegerField()
    """Tokens that the model may write in one reply."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"votes by {self.llm}, {self.prompt_id}"


class JudgedPair(AnswerChunk):
    """Two stored answers and what the model says of them in both orders; people's votes are elsewhere."""

    job = models.ForeignKey(JudgeJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    left = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    """Shown first in the first of the two orders."""
    right = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    left_digest = models.CharField(max_length=64)
    """Digest of the answer as it was when the job began (`digest_of`)."""
    right_digest = models.CharField(max_length=64)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="judged_pair_number_once_a_job"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="judged_pairs_by_state"),)

    def __str__(self) -> str:
        return f"pair {self.number} of {self.job}"


__all__ = [
    "Arena", "Battle", "FreshAnswer", "JudgeJob", "JudgedPair", "Question", "Reason", "Vote", "digest_of",
    "new_seed",
]  # fmt: skip


def new_seed() -> int:
    return secrets.randbits(31)


def digest_of(response: Response) -> str:
    """Return a digest of the answer's sentences and citations, by which a vote remembers what it is about."""
    written = json.dumps(response.sentences, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()


class Arena(models.Model):
    """How a collection draws battles, and who may look at the vote board."""

    class Drawing(models.TextChoices):
        SHARPEN = (
            "sharpen",
            "to sharpen the board: the least certain pair, on the topic with fewest votes",
        )
        RANDOM = "random", "at random: every pair and topic is equally likely"

    collection = models.OneToOneField(Collection, on_delete=models.CASCADE, related_name="arena")
    drawing = models.CharField(max_length=20, choices=Drawing, default=Drawing.SHARPEN)
    seed = models.PositiveIntegerField(default=new_seed)
    """Seed of every draw."""
    is_board_open = models.BooleanField(default=False)
    """Assessors and viewers see the vote board; before, only those who always see the names of runs do."""

    def __str__(self) -> str:
        return f"arena of {self.collection}"


class Battle(models.Model):
    """Two answers to one topic, side by side for one person."""

    class Drawn(models.TextChoices):
        SHARPEN = "sharpen", "drawn to sharpen the board"
        RANDOM = "random", "drawn at random"
        REPEAT = "repeat", "drawn again after somebody else, to measure how far voters agree"
        CHOSEN = "chosen", "chosen by name"
        ASKED = "asked", "made for a question"
        IMPORTED = "imported", "from a file of battles, which has no answers"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="battles")
    topic = models.ForeignKey(Topic, null=True, on_delete=models.CASCADE, related_name="battles")
    left = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="battles_on_the_left")
    right = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="battles_on_the_right")
    question = models.OneToOneField(Question, null=True, on_delete=models.CASCADE, related_name="battle")
    """Whose answers are made for it; None for stored answers of two runs to a topic."""
    left_digest = models.CharField(max_length=64, blank=True)
    """Digest of the answer as it was shown (`digest_of`); empty while it is being made."""
    right_digest = models.CharField(max_length=64, blank=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="battles"
    )
    number = models.PositiveIntegerField()
    """Counts the person's battles in the collection, from 1."""
    drawn = models.CharField(max_length=20, choices=Drawn)
    at = models.DateTimeField(auto_now_add=True)
    names_shown_at = models.DateTimeField(null=True, blank=True)
    """When the person first saw whose answers these are; None while the battle is blind."""
    skipped_at = models.DateTimeField(null=True, blank=True)
    columns = models.JSONField(default=dict, blank=True)
    """Of an imported battle: the columns beside the models and the winner, in the file's order."""

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                "person",
                "topic",
                Least("left", "right"),
                Greatest("left", "right"),
                condition=~Q(drawn="imported"),
                name="battle_once_a_person",
            ),
            models.UniqueConstraint(
                fields=("collection", "person", "number"), name="battle_number_once_a_person"
            ),
            models.CheckConstraint(
                condition=Q(question__isnull=False, topic=None, left=None, right=None)
                | Q(question=None, topic__isnull=False, left__isnull=False, right__isnull=False)
                & ~Q(left=F("right")),
                name="battle_is_of_two_runs_or_a_question",
            ),
        )

    def __str__(self) -> str:
        return f"battle {self.number}"

    def get_absolute_url(self) -> str:
        return reverse("arena:battle", args=[self.collection.slug, self.pk])

    @property
    def is_blind(self) -> bool:
        return self.names_shown_at is None

    @property
    def is_imported(self) -> bool:
        """Return whether it came from a file of battles: nobody knows which answers it is of."""
        return self.drawn == self.Drawn.IMPORTED

    @property
    def stored_topic(self) -> Topic:
        """Return the topic of a battle of stored answers."""
        if self.topic is None:
            raise ValueError("a question has no topic of its own")
        return self.topic

    @property
    def places(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return left and right of stored answers: (run, topic), by primary keys."""
        if not (self.left_id and self.right_id and self.topic_id):
            raise ValueError("answers to a question are of no run")
        return (self.left_id, self.topic_id), (self.right_id, self.topic_id)

    @property
    def query_id(self) -> str:
        """Return the query id of the topic; empty for a question that was typed in."""
        return self.question.query_id if self.question else self.stored_topic.query_id

    @property
    def text(self) -> str:
        """Return the query of the topic, or the question."""
        return self.question.text if self.question else self.stored_topic.text

    @property
    def about(self) -> str:
        """Return the label in the audit trail."""
        return f"topic {self.query_id}" if self.query_id else f"question {self.question_id}"


class Vote(models.Model):
    """One event of a battle: a vote, or that it was taken back. Rows are added, never changed."""

    class Verdict(models.TextChoices):
        LEFT = "left", "left better"
        TIE = "tie", "tie"
        RIGHT = "right", "right better"
        BOTH_BAD = "both_bad", "both bad"

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="votes")
    number = models.PositiveSmallIntegerField()
    """Counts the events of the battle, from 1; the last one holds."""
    answer = models.CharField(max_length=10, choices=Verdict, blank=True)
    """Which answer is better; empty where the vote is taken back, or a file has it on evidence alone."""
    evidence = models.CharField(max_length=10, choices=Verdict, blank=True)
    """Whose citations hold; empty too where neither answer cites anything."""
    is_withdrawn = models.BooleanField(default=False)
    is_blind = models.BooleanField()
    """The person had not seen whose answers these are."""
    at = models.DateTimeField(auto_now_add=True)
    uid = models.UUIDField()
    """Id of the request, which adds nothing when it is sent again."""

    objects = VoteQuerySet.as_manager()

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("battle", "number"), name="vote_number_once_a_battle"),
            models.UniqueConstraint(fields=("battle", "uid"), name="vote_request_once_a_battle"),
            models.CheckConstraint(
                condition=Q(is_withdrawn=True, answer="", evidence="")
                | Q(is_withdrawn=False) & ~Q(answer="", evidence=""),
                name="vote_says_something_or_is_withdrawn",
            ),
        )

    def __str__(self) -> str:
        return f"vote {self.number} on battle {self.battle_id}"


class Reason(models.Model):
    """Why somebody voted so: said after the vote, and again if they like; the last one holds."""

    class Tag(models.TextChoices):
        CORRECT = "correct", "correct"
        COMPLETE = "complete", "complete"
        WELL_CITED = "well_cited", "well cited"
        CONCISE = "concise", "concise"
        STYLE = "style", "style"

    vote = models.ForeignKey(Vote, on_delete=models.CASCADE, related_name="reasons")
    tags = models.JSONField(default=list, blank=True)
    """What the better answer is more than the other, in the order of Tag."""
    text = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    uid = models.UUIDField()
    """Id of the request, which adds nothing when it is sent again."""

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("vote", "uid"), name="reason_request_once_a_vote"),)

    def __str__(self) -> str:
        return ", ".join(filter(None, (*self.tag_labels, self.text)))

    @property
    def tag_labels(self) -> list[str]:
        return [str(self.Tag(tag).label) for tag in self.tags]
