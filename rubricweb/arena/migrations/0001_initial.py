import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import rubricweb.arena.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("corpus", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Arena",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "drawing",
                    models.CharField(
                        choices=[
                            (
                                "sharpen",
                                "to sharpen the board: the least certain pair, on the topic with fewest votes",
                            ),
                            ("random", "at random: every pair and topic is equally likely"),
                        ],
                        default="sharpen",
                        max_length=20,
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=rubricweb.arena.models.new_seed)),
                ("is_board_open", models.BooleanField(default=False)),
                (
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="arena",
                        to="corpus.collection",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("cancelling", "Cancelling"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                (
                    "priority",
                    models.CharField(
                        choices=[("high", "high"), ("default", "normal"), ("low", "low")],
                        default="default",
                        max_length=20,
                    ),
                ),
                ("total", models.PositiveIntegerField()),
                ("error", models.TextField(blank=True)),
                ("pause_reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("calls", models.PositiveIntegerField(default=0)),
                (
                    "most_calls",
                    models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)]),
                ),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                ("dollars", models.FloatField(default=0)),
                ("most_dollars", models.FloatField(null=True)),
                ("text", models.CharField(max_length=1000)),
                ("is_drawn", models.BooleanField()),
                (
                    "adopted_as",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="corpus.topic",
                    ),
                ),
                (
                    "adopted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                        related_name="arena_questions",
                        to="corpus.collection",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="arena_questions",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="Battle",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("left_digest", models.CharField(blank=True, max_length=64)),
                ("right_digest", models.CharField(blank=True, max_length=64)),
                ("number", models.PositiveIntegerField()),
                (
                    "drawn",
                    models.CharField(
                        choices=[
                            ("sharpen", "drawn to sharpen the board"),
                            ("random", "drawn at random"),
                            ("repeat", "drawn again after somebody else, to measure how far voters agree"),
                            ("chosen", "chosen by name"),
                            ("asked", "made for a question"),
                            ("imported", "from a file of battles, which has no answers"),
                        ],
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("names_shown_at", models.DateTimeField(blank=True, null=True)),
                ("skipped_at", models.DateTimeField(blank=True, null=True)),
                ("columns", models.JSONField(blank=True, default=dict)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles",
                        to="corpus.collection",
                    ),
                ),
                (
                    "left",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles_on_the_left",
                        to="corpus.run",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="battles",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "right",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles_on_the_right",
                        to="corpus.run",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles",
                        to="corpus.topic",
                    ),
                ),
                (
                    "question",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battle",
                        to="arena.question",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.UniqueConstraint(
                        models.F("person"),
                        models.F("topic"),
                        django.db.models.functions.comparison.Least("left", "right"),
                        django.db.models.functions.comparison.Greatest("left", "right"),
                        condition=models.Q(("drawn", "imported"), _negated=True),
                        name="battle_once_a_person",
                    ),
                    models.UniqueConstraint(
                        fields=("collection", "person", "number"), name="battle_number_once_a_person"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("left", None), ("question__isnull", False), ("right", None), ("topic", None)
                            ),
                            models.Q(
                                ("left__isnull", False),
                                ("question", None),
                                ("right__isnull", False),
                                ("topic__isnull", False),
                                models.Q(("left", models.F("right")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="battle_is_of_two_runs_or_a_question",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "answer",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("left", "left better"),
                            ("tie", "tie"),
                            ("right", "right better"),
                            ("both_bad", "both bad"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "evidence",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("left", "left better"),
                            ("tie", "tie"),
                            ("right", "right better"),
                            ("both_bad", "both bad"),
                        ],
                        max_length=10,
                    ),
                ),
                ("is_withdrawn", models.BooleanField(default=False)),
                ("is_blind", models.BooleanField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("uid", models.UUIDField()),
                (
                    "battle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="votes", to="arena.battle"
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "constraints": [
                    models.UniqueConstraint(fields=("battle", "number"), name="vote_number_once_a_battle"),
                    models.UniqueConstraint(fields=("battle", "uid"), name="vote_request_once_a_battle"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", ""), ("evidence", ""), ("is_withdrawn", True)),
                            models.Q(
                                ("is_withdrawn", False),
                                models.Q(("answer", ""), ("evidence", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="vote_says_something_or_is_withdrawn",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reason",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tags", models.JSONField(blank=True, default=list)),
                ("text", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("uid", models.UUIDField()),
                (
                    "vote",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reasons", to="arena.vote"
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(fields=("vote", "uid"), name="reason_request_once_a_vote")
                ],
            },
        ),
        migrations.CreateModel(
            name="FreshAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("leased", "Leased"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("queued_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("number", models.PositiveIntegerField()),
                ("size", models.PositiveIntegerField()),
                ("done", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("replies", models.JSONField(blank=True, default=dict)),
                ("result", models.JSONField(blank=True, null=True)),
                ("system", models.CharField(blank=True, max_length=40)),
                ("spec", models.JSONField()),
                ("request", models.JSONField(blank=True, default=dict)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="arena.question",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["state", "lease_until"], name="fresh_answers_by_state")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("job", "number"), name="fresh_answer_number_once_a_question"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgeJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("cancelling", "Cancelling"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                (
                    "priority",
                    models.CharField(
                        choices=[("high", "high"), ("default", "normal"), ("low", "low")],
                        default="default",
                        max_length=20,
                    ),
                ),
                ("total", models.PositiveIntegerField()),
                ("error", models.TextField(blank=True)),
                ("pause_reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("calls", models.PositiveIntegerField(default=0)),
                (
                    "most_calls",
                    models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)]),
                ),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                ("dollars", models.FloatField(default=0)),
                ("most_dollars", models.FloatField(null=True)),
                ("backend", models.CharField(max_length=40)),
                ("llm", models.CharField(max_length=200)),
                ("prompt_id", models.CharField(max_length=100)),
                (
                    "pairs",
                    models.CharField(
                        choices=[
                            ("voted", "pairs of answers on which people voted"),
                            ("all", "every pair of answers"),
                            ("failed", "pairs whose replies named no verdict, again"),
                        ],
                        max_length=10,
                    ),
                ),
                ("longest_reply", models.PositiveIntegerField()),
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
                        related_name="judge_jobs",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="JudgedPair",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("leased", "Leased"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=20,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("queued_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("number", models.PositiveIntegerField()),
                ("size", models.PositiveIntegerField()),
                ("done", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("replies", models.JSONField(blank=True, default=dict)),
                ("result", models.JSONField(blank=True, null=True)),
                ("left_digest", models.CharField(max_length=64)),
                ("right_digest", models.CharField(max_length=64)),
                (
                    "left",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.run"
                    ),
                ),
                (
                    "right",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.run"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.topic"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="arena.judgejob",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["state", "lease_until"], name="judged_pairs_by_state")],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="judged_pair_number_once_a_job")
                ],
            },
        ),
    ]
