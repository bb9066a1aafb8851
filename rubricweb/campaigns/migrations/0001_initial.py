import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("banks", "0001_initial"),
        ("corpus", "0001_initial"),
        ("grades", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Campaign",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("kinds", models.JSONField()),
                (
                    "cells_taken",
                    models.CharField(
                        choices=[
                            ("all", "all"),
                            ("high", "graded at the threshold or above"),
                            ("unsure", "failed or unsure"),
                            ("disagreeing", "graders disagree, or grader and judgment"),
                            ("deciding", "those that decide a run's Rubric-Cover"),
                            ("cover", "a sample that estimates every run's Rubric-Cover"),
                            (
                                "answers",
                                "a sample that estimates every run's nugget scores, one passage a topic",
                            ),
                            ("passages", "whole passages, a sample that estimates every run's P@k"),
                        ],
                        default="all",
                        max_length=20,
                    ),
                ),
                ("min_grade", models.PositiveSmallIntegerField()),
                ("cutoff", models.PositiveSmallIntegerField(default=20)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("blind", "blind: rate first, then see the grader's rating"),
                            ("assisted", "assisted: rate beside the grader's rating"),
                            ("mixed", "mixed: blind or assisted at random for each pair and assessor"),
                        ],
                        default="blind",
                        max_length=20,
                    ),
                ),
                (
                    "order",
                    models.CharField(
                        choices=[
                            ("rank", "at or above the threshold, from the top of all runs down"),
                            ("random", "random"),
                            ("confidence", "low confidence of the grader first"),
                            ("disagreement", "disagreement of graders, or with the judgment, first"),
                            ("leaderboard", "expected change of the leaderboard first"),
                        ],
                        default="rank",
                        max_length=20,
                    ),
                ),
                (
                    "passage_order",
                    models.CharField(
                        choices=[
                            ("topic", "by topic: all items of a passage together, topic after topic"),
                            ("board", "by value for the leaderboard: all items of a passage together"),
                            ("cell", "in the order drawn, each pair by itself"),
                        ],
                        default="topic",
                        max_length=20,
                    ),
                ),
                ("random_share", models.FloatField(default=0.2)),
                ("assessors", models.PositiveSmallIntegerField(default=1)),
                ("seed", models.PositiveIntegerField()),
                ("population", models.PositiveIntegerField()),
                ("grader", models.CharField(blank=True, max_length=200)),
                ("is_standing", models.BooleanField(default=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="campaigns", to="banks.bank"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="campaigns",
                        to="corpus.collection",
                    ),
                ),
                (
                    "draw",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="campaign",
                        to="grades.draw",
                    ),
                ),
                (
                    "assignees",
                    models.ManyToManyField(blank=True, related_name="campaigns", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "name"), name="campaign_name_once_a_collection"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_standing", True)),
                        fields=("bank",),
                        name="one_standing_campaign_per_bank",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("assessors__gte", 1)), name="campaign_wants_an_assessor"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CampaignCell",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                ("reason", models.CharField(max_length=200)),
                ("is_random", models.BooleanField(default=False)),
                ("draw_probability", models.FloatField(default=0)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cells",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="grades.graderconfig",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="banks.item"
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.passage"
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="banks.itemrevision"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.topic"
                    ),
                ),
            ],
            options={
                "ordering": ("order",),
                "indexes": [
                    models.Index(fields=["campaign", "order"], name="campaign_cells_in_order"),
                    models.Index(fields=["revision", "passage"], name="campaign_cells_by_cell"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("campaign", "revision", "passage"), name="cell_once_a_campaign"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("draw_probability__gte", 0), ("draw_probability__lte", 1)),
                        name="draw_probability_is_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("rating", models.SmallIntegerField()),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("uid", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "grade",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decision",
                        to="grades.humangrade",
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="corpus.passage",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="banks.itemrevision",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "indexes": [models.Index(fields=["topic", "revision", "passage"], name="decisions_by_cell")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("revision", "passage", "number"), name="decisions_in_turn"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating", -5),
                            models.Q(("rating__gte", 0), ("rating__lte", 5)),
                            _connector="OR",
                        ),
                        name="decided_rating_within_scale",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DecidedRating",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rating", models.SmallIntegerField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decided_ratings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "decision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="between",
                        to="campaigns.decision",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("decision", "person"), name="one_rating_per_decision_and_person"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("leased", "Leased"),
                            ("submitted", "Submitted"),
                            ("skipped", "Skipped"),
                        ],
                        default="pending",
                        max_length=20,
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        blank=True, choices=[("blind", "Blind"), ("assisted", "Assisted")], max_length=20
                    ),
                ),
                ("taken_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("comment", models.TextField(blank=True)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                ("rating", models.SmallIntegerField(blank=True, null=True)),
                ("can_undo", models.BooleanField(default=False)),
                ("uid", models.UUIDField(blank=True, null=True)),
                (
                    "assigned_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "cell",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="campaigns.campaigncell",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="turns",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("order", "pk"),
                "indexes": [
                    models.Index(fields=["campaign", "state", "order"], name="turns_to_hand_out"),
                    models.Index(fields=["person", "campaign", "done_at"], name="turns_by_person"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cell", "person"), name="one_turn_per_cell_and_person"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "leased"), _negated=True),
                            ("lease_until__isnull", False),
                            _connector="OR",
                        ),
                        name="leased_turn_ends",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__isnull", True),
                            ("rating", -5),
                            models.Q(("rating__gte", 0), ("rating__lte", 5)),
                            _connector="OR",
                        ),
                        name="turn_rating_within_scale",
                    ),
                ],
            },
        ),
    ]
