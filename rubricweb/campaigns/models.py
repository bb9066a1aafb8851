"""Campaigns with their cells and turns, and decisions between assessors."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.human_models import IS_RATING, Draw, HumanGrade
from rubricweb.grades.human_ratings import Cell
from rubricweb.grades.models import GraderConfig

UNFINISHED = (
    " In order of passages they are a random sample only once all are rated; in drawn order "
    "they are at any time."
)


class Campaign(models.Model):
    """Cells for people to rate: which, in which order, by how many, and what they see."""

    class Mode(models.TextChoices):
        BLIND = "blind", "blind: rate first, then see the grader's rating"
        ASSISTED = "assisted", "assisted: rate beside the grader's rating"
        MIXED = "mixed", "mixed: blind or assisted at random for each pair and assessor"

    class Order(models.TextChoices):
        RANK = "rank", "at or above the threshold, from the top of all runs down"
        RANDOM = "random", "random"
        CONFIDENCE = "confidence", "low confidence of the grader first"
        DISAGREEMENT = "disagreement", "disagreement of graders, or with the judgment, first"
        LEADERBOARD = "leaderboard", "expected change of the leaderboard first"

    class PassageOrder(models.TextChoices):
        TOPIC = "topic", "by topic: all items of a passage together, topic after topic"
        BOARD = "board", "by value for the leaderboard: all items of a passage together"
        CELL = "cell", "in the order drawn, each pair by itself"

    class Cells(models.TextChoices):
        ALL = "all", "all"
        HIGH = "high", "graded at the threshold or above"
        UNSURE = "unsure", "failed or unsure"
        DISAGREEING = "disagreeing", "graders disagree, or grader and judgment"
        DECIDING = "deciding", "those that decide a run's Rubric-Cover"
        COVER = "cover", "a sample that estimates every run's Rubric-Cover"
        ANSWERS = "answers", "a sample that estimates every run's nugget scores, one passage a topic"
        PASSAGES = "passages", "whole passages, a sample that estimates every run's P@k"

    DEFAULT_ORDER = Order.RANK
    """The order that finds most clear and right pairs of runs in two hours: bench/human_minutes.py."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="campaigns")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="campaigns")
    name = models.CharField(max_length=120)
    kinds = models.JSONField()
    cells_taken = models.CharField(max_length=20, choices=Cells, default=Cells.ALL)
    min_grade = models.PositiveSmallIntegerField()
    cutoff = models.PositiveSmallIntegerField(default=20)
    """The rank cutoff of the leaderboard whose expected change orders the cells."""
    mode = models.CharField(max_length=20, choices=Mode, default=Mode.BLIND)
    order = models.CharField(max_length=20, choices=Order, default=DEFAULT_ORDER)
    passage_order = models.CharField(max_length=20, choices=PassageOrder, default=PassageOrder.TOPIC)
    """The order in which the passages of the chosen cells come to assessors."""
    random_share = models.FloatField(default=0.2)
    """The share of cells drawn at random, whatever the order."""
    assessors = models.PositiveSmallIntegerField(default=1)
    """Independent assessors per cell."""
    seed = models.PositiveIntegerField()
    """The seed of every draw: the random cells, and the modes where they are mixed."""
    population = models.PositiveIntegerField()
    """How many cells matched the choice; the campaign's cells were drawn from these."""
    draw = models.OneToOneField(Draw, null=True, on_delete=models.RESTRICT, related_name="campaign")
    """The draw of its random cells; None if they were drawn from a part of the cells, and support no
    estimate.
    """
    grader = models.CharField(max_length=200, blank=True)
    """The grader that the choice and the order were based on, in words."""
    is_standing = models.BooleanField(default=False)
    """Holds the cells assigned to single people; it has no order of its own."""
    assignees = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="campaigns")
    """Who may take turns; empty for every assessor."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("collection", "name"), name="campaign_name_once_a_collection"),
            models.UniqueConstraint(
                fields=("bank",), condition=Q(is_standing=True), name="one_standing_campaign_per_bank"
            ),
            models.CheckConstraint(condition=Q(assessors__gte=1), name="campaign_wants_an_assessor"),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("campaigns:queue", args=[self.collection.slug, self.pk])

    @property
    def is_sample(self) -> bool:
        """Return whether its cells were drawn for an estimate, by lot whatever the order."""
        return self.cells_taken in SAMPLES

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def is_by_passage(self) -> bool:
        """Return whether the cells of a passage follow each other."""
        return not self.is_standing and self.passage_order != self.PassageOrder.CELL

    @property
    def hides(self) -> str:
        """Return a sentence on the grades that its assessors do not see yet; empty where they see all."""
        if self.mode == self.Mode.ASSISTED:
            return ""
        return (
            "Until you have rated a passage blind, you see none of its grades, nor grades of items that "
            "you added or that were added or reworded since the campaign was opened."
        )

    @property
    def counts_for(self) -> str:
        """Return the estimates that its ratings support, in words."""
        if self.draw_id is None:
            return "These pairs support no estimate, because they were not drawn at random from all."
        return f"{self._counts_for}{UNFINISHED if self.is_by_passage and not self.is_sample else ''}"

    @property
    def _counts_for(self) -> str:
        serves = {
            self.Cells.COVER: f"of this grader, threshold {self.min_grade} and cutoff {self.cutoff}",
            self.Cells.ANSWERS: f"by nugget scores or Rubric-Cover at cutoff {self.cutoff}",
            self.Cells.PASSAGES: f"by P_{self.cutoff}",
        }
        if boards := serves.get(self.Cells(self.cells_taken)):
            return (
                "The rated pairs are the sample for \u201cBy people, estimated\u201d on leaderboards "
                f"{boards}. They do not count in Verify grading. The intervals hold once all are rated."
            )
        return (
            "The rated pairs that were drawn at random count in the shares of Verify grading, and for "
            "\u201cBy people, estimated\u201d on leaderboards of the same items."
        )


SAMPLES = frozenset({Campaign.Cells.COVER, Campaign.Cells.ANSWERS, Campaign.Cells.PASSAGES})


class CampaignCell(models.Model):
    """One wording and one passage to rate, frozen when the campaign was made."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="cells")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT, related_name="+")
    """The item's wording at that time."""
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="+")
    order = models.PositiveIntegerField()
    """The place in the campaign, from 1."""
    reason = models.CharField(max_length=200)
    """Why the cell was chosen, for the person who rates it."""
    is_random = models.BooleanField(default=False)
    """Whether it was drawn at random; estimates use only such cells."""
    draw_probability = models.FloatField(default=0)
    """The probability of the random draw; 0 for other cells."""
    config = models.ForeignKey(GraderConfig, null=True, on_delete=models.PROTECT, related_name="+")
    """The grader whose rating is shown beside it."""

    class Meta:
        ordering = ("order",)
        constraints = (
            models.UniqueConstraint(fields=("campaign", "revision", "passage"), name="cell_once_a_campaign"),
            models.CheckConstraint(
                condition=Q(draw_probability__gte=0, draw_probability__lte=1),
                name="draw_probability_is_one",
            ),
        )
        indexes = (
            models.Index(fields=("campaign", "order"), name="campaign_cells_in_order"),
            models.Index(fields=("revision", "passage"), name="campaign_cells_by_cell"),
        )

    def __str__(self) -> str:
        return f"pair {self.order}"

    @property
    def human_cell(self) -> Cell:
        """Return the cell as `grades.human_ratings` takes it."""
        return Cell(self.topic_id, self.revision_id, self.passage_id, self.campaign.collection.channel)


class Turn(models.Model):
    """One assessor's rating of one cell: open, leased, handed in, or skipped with a reason."""

    class State(models.TextChoices):
        PENDING = "pending"
        LEASED = "leased"
        SUBMITTED = "submitted"
        SKIPPED = "skipped"

    class Mode(models.TextChoices):
        BLIND = "blind"
        ASSISTED = "assisted"

    DONE = (State.SUBMITTED, State.SKIPPED)

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="turns")
    cell = models.ForeignKey(CampaignCell, on_delete=models.CASCADE, related_name="turns", db_index=False)
    order = models.PositiveIntegerField()
    """The cell's, copied because turns are handed out by it."""
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="turns"
    )
    """Who has it, or to whom it was assigned; None while anybody may take it."""
    state = models.CharField(max_length=20, choices=State, default=State.PENDING)
    mode = models.CharField(max_length=20, choices=Mode, blank=True)
    """Whether the person saw the grader's rating; random where the campaign mixes modes."""
    taken_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    comment = models.TextField(blank=True)
    reason = models.CharField(max_length=200, blank=True)
    """Why it was skipped."""
    done_at = models.DateTimeField(null=True, blank=True)
    """When it was last handed in or skipped."""
    rating = models.SmallIntegerField(null=True, blank=True)
    """The first rating in this turn, so given without the grader's if the turn is blind."""
    can_undo = models.BooleanField(default=False)
    uid = models.UUIDField(null=True, blank=True)
    """The id of the latest request that changed the turn: sent again, it changes nothing."""
    assigned_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    event: HumanGrade | None = None
    """The person's latest event for the cell; set by the query that reads the turn, no column."""

    class Meta:
        ordering = ("order", "pk")
        constraints = (
            models.UniqueConstraint(fields=("cell", "person"), name="one_turn_per_cell_and_person"),
            models.CheckConstraint(
                condition=~Q(state="leased") | Q(lease_until__isnull=False), name="leased_turn_ends"
            ),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | IS_RATING,
                name="turn_rating_within_scale",
            ),
        )
        indexes = (
            models.Index(fields=("campaign", "state", "order"), name="turns_to_hand_out"),
            models.Index(fields=("person", "campaign", "done_at"), name="turns_by_person"),
        )

    def __str__(self) -> str:
        return f"{self.state} turn {self.pk}"

    @property
    def is_done(self) -> bool:
        return self.state in self.DONE

    @property
    def is_blind(self) -> bool:
        return self.mode == self.Mode.BLIND


class Decision(models.Model):
    """The rating of a cell that an adjudicator decided; of several that stand, the last holds.

    `number` counts the cell's decisions, so that of two adjudicators who saw the same number one is refused.
    """

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="decisions")
    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="decisions")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    rating = models.SmallIntegerField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    at = models.DateTimeField(auto_now_add=True)
    grade = models.OneToOneField(HumanGrade, on_delete=models.PROTECT, related_name="decision")
    """The human rating that carries the decision."""
    uid = models.UUIDField(unique=True, default=uuid.uuid4)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("revision", "passage", "number"), name="decisions_in_turn"),
            models.CheckConstraint(
                condition=IS_RATING,
                name="decided_rating_within_scale",
            ),
        )
        indexes = (models.Index(fields=("topic", "revision", "passage"), name="decisions_by_cell"),)

    def __str__(self) -> str:
        return f"decision {self.number}: {self.rating}"


class DecidedRating(models.Model):
    """A rating that a decision was made between, as it was at that time."""

    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="between")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="decided_ratings"
    )
    rating = models.SmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("decision", "person"), name="one_rating_per_decision_and_person"),
        )

    def __str__(self) -> str:
        return f"{self.rating} before decision {self.decision_id}"


def new_uid() -> uuid.UUID:
    """Return an id for a form, so that the server recognizes a request that is sent twice."""
    return uuid.uuid4()
