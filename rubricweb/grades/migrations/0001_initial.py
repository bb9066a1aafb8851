import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import rubricweb.core.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("banks", "0001_initial"),
        ("corpus", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="GraderConfig",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("backend", models.CharField(max_length=40)),
                ("llm", models.CharField(max_length=200)),
                ("prompt_class", models.CharField(max_length=200)),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("rate", "rates"),
                            ("extract", "extracts answers"),
                            ("verify", "verifies answers"),
                            ("direct", "labels passages"),
                        ],
                        max_length=20,
                    ),
                ),
                ("options", models.JSONField(default=dict)),
                ("fingerprint", models.CharField(max_length=64, unique=True)),
            ],
            options={
                "ordering": ("llm", "prompt_class", "pk"),
            },
        ),
        migrations.CreateModel(
            name="Draw",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "design",
                    models.CharField(
                        choices=[
                            ("cells", "all cells alike"),
                            ("cover", "a sample that estimates Rubric-Cover"),
                            ("answers", "single cells, a sample that estimates scores of whole answers"),
                            ("passages", "whole passages, a sample that estimates P@k"),
                            ("deciding", "cells that decide a run's Rubric-Cover"),
                        ],
                        max_length=20,
                    ),
                ),
                ("cutoff", models.PositiveSmallIntegerField(null=True)),
                ("min_grade", models.PositiveSmallIntegerField(null=True)),
                ("revisions", models.JSONField(default=list)),
                ("passages", models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draws",
                        to="corpus.collection",
                    ),
                ),
                ("configs", models.ManyToManyField(related_name="+", to="grades.graderconfig")),
            ],
            options={
                "ordering": ("pk",),
            },
        ),
        migrations.CreateModel(
            name="GradingJob",
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
                ("scope", models.CharField(max_length=200)),
                ("press", models.UUIDField(editable=False, null=True)),
                ("options", models.JSONField(blank=True, default=dict)),
                ("is_retry", models.BooleanField(default=False)),
                ("is_again", models.BooleanField(default=False)),
                ("is_closed", models.BooleanField(db_default=False, default=False)),
                ("failures", models.JSONField(blank=True, default=dict)),
                (
                    "after",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="followers",
                        to="grades.gradingjob",
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
                        related_name="jobs",
                        to="corpus.collection",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="jobs",
                        to="grades.graderconfig",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "waiting"), _negated=True),
                            ("after__isnull", False),
                            _connector="OR",
                        ),
                        name="waiting_job_has_one_to_wait_for",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HumanGrade",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("rating", models.SmallIntegerField(null=True)),
                (
                    "verdict",
                    models.CharField(
                        blank=True, choices=[("right", "right"), ("wrong", "wrong")], max_length=10
                    ),
                ),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("grid", "own rating in the grid"),
                            ("blind", "rated before seeing the grader's rating"),
                            ("assisted", "rated beside the grader's rating"),
                            ("verified", "checked the grader's rating"),
                            ("adjudicated", "decided between assessors"),
                            ("imported", "rated in another tool"),
                        ],
                        max_length=20,
                    ),
                ),
                ("is_withdrawn", models.BooleanField(default=False)),
                ("seen_rating", models.SmallIntegerField(null=True)),
                ("uid", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="human_grades",
                        to=settings.AUTH_USER_MODEL,
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
                    "draw",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="ratings",
                        to="grades.draw",
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="human_grades",
                        to="corpus.passage",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="human_grades",
                        to="banks.itemrevision",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="human_grades",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "indexes": [
                    models.Index(fields=["topic", "revision", "passage"], name="human_grades_by_cell")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("revision", "passage", "by", "number"), name="human_grades_in_turn"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__isnull", True),
                            ("rating", -5),
                            models.Q(("rating__gte", 0), ("rating__lte", 5)),
                            _connector="OR",
                        ),
                        name="human_rating_within_scale",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("is_withdrawn", True), ("rating__isnull", True), ("verdict", "")),
                            models.Q(
                                ("is_withdrawn", False),
                                models.Q(
                                    ("rating__isnull", False),
                                    models.Q(("verdict", ""), _negated=True),
                                    _connector="OR",
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="human_grade_says_something",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="HumanStamp",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=rubricweb.core.models.new_stamp)),
                (
                    "topic",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="human_stamp",
                        to="corpus.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JobPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("revisions", models.JSONField()),
                ("passages", models.TextField()),
                ("mask", models.TextField(blank=True)),
                ("rows", models.PositiveIntegerField()),
                ("opened", models.PositiveIntegerField(default=0)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="grades.gradingjob",
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
                "ordering": ("number",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("opened__lt", models.F("rows"))),
                        fields=["job"],
                        name="unopened_parts",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="part_number_once_a_job"),
                    models.CheckConstraint(
                        condition=models.Q(("opened__lte", models.F("rows"))), name="part_opened_within_rows"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JobChunk",
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
                ("first", models.PositiveIntegerField(db_default=0, default=0)),
                ("last", models.PositiveIntegerField(db_default=0, default=0)),
                ("cells", models.JSONField(default=None, null=True)),
                ("batch", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="grades.gradingjob",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.topic"
                    ),
                ),
                (
                    "part",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="grades.jobpart",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [
                    models.Index(fields=["state", "lease_until"], name="chunks_by_state"),
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "leased"))),
                        fields=["job", "state"],
                        name="live_chunks_by_job",
                    ),
                    models.Index(
                        condition=models.Q(("batch", ""), _negated=True),
                        fields=["state"],
                        name="chunks_in_batches",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="chunk_number_once_a_job"),
                    models.CheckConstraint(
                        condition=models.Q(("done__lte", models.F("size"))), name="chunk_done_within_size"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MatrixSnapshot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField()),
                ("content", models.BinaryField()),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshots",
                        to="grades.graderconfig",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshots",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("config", "topic"), name="one_snapshot_per_config_and_topic"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MatrixStamp",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=rubricweb.core.models.new_stamp)),
                ("grades", models.PositiveIntegerField(default=0)),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stamps",
                        to="grades.graderconfig",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="stamps", to="corpus.topic"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("config", "topic"), name="one_stamp_per_config_and_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplyBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.BinaryField()),
                ("number", models.PositiveIntegerField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("dropped", models.PositiveIntegerField(default=0)),
                ("dropped_at", models.DateTimeField(null=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reply_blocks",
                        to="corpus.collection",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="grades.graderconfig",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reply_blocks",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["topic", "config"], name="reply_blocks_by_topic"),
                    models.Index(
                        condition=models.Q(("dropped_at", None)),
                        fields=["collection", "at"],
                        name="reply_blocks_to_drop",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grade",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rating", models.SmallIntegerField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("numeric", "the model's rating"),
                            ("unanswerable", "said unanswerable: 0"),
                            ("defaulted", "unparsable: default"),
                            ("extracted", "extracted answer"),
                            ("failed", "failed"),
                        ],
                        max_length=20,
                    ),
                ),
                ("answer", models.TextField(blank=True)),
                ("reply", models.TextField(blank=True)),
                ("error_class", models.CharField(blank=True, max_length=20)),
                ("attempts", models.PositiveSmallIntegerField(default=1)),
                ("confidence", models.FloatField(null=True)),
                ("expectation", models.FloatField(null=True)),
                ("context_chars", models.PositiveIntegerField(null=True)),
                ("call_items", models.PositiveSmallIntegerField(null=True)),
                ("call_place", models.PositiveSmallIntegerField(null=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "passage",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="corpus.passage",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="banks.itemrevision",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="corpus.topic",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grades",
                        to="grades.graderconfig",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="grades",
                        to="grades.gradingjob",
                    ),
                ),
                (
                    "reply_block",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="grades.replyblock",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["config", "topic"], name="grades_by_config_and_topic"),
                    models.Index(
                        condition=models.Q(("outcome", "failed")),
                        fields=["job", "error_class"],
                        name="failed_grades_by_job",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("revision", "config", "passage"), name="grade_unique_per_config"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__isnull", True),
                            ("rating", -5),
                            models.Q(("rating__gte", 0), ("rating__lte", 5)),
                            _connector="OR",
                        ),
                        name="rating_within_scale",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "failed"), _negated=True),
                            ("rating__isnull", True),
                            _connector="OR",
                        ),
                        name="failed_grade_has_no_rating",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplyPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("days", models.PositiveIntegerField(null=True)),
                ("packed_to", models.BigIntegerField(default=0)),
                (
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reply_policy",
                        to="corpus.collection",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AnswerVerdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("is_right", models.BooleanField(null=True)),
                ("answer", models.TextField()),
                ("seen_rating", models.SmallIntegerField()),
                ("uid", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answer_verdicts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer_verdicts",
                        to="corpus.passage",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer_verdicts",
                        to="banks.itemrevision",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer_verdicts",
                        to="corpus.topic",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="grades.graderconfig",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "indexes": [models.Index(fields=["config", "topic"], name="answer_verdicts_by_topic")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("config", "revision", "passage", "by", "number"),
                        name="answer_verdicts_in_turn",
                    )
                ],
            },
        ),
    ]
