import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("corpus", "0001_initial"),
        ("grades", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="SupportJudge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("backend", models.CharField(max_length=40)),
                ("llm", models.CharField(max_length=200)),
                ("prompt_id", models.CharField(max_length=100)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="support_judges",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "backend", "llm", "prompt_id"),
                        name="support_judge_once_a_collection",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SupportJob",
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
                (
                    "citations",
                    models.CharField(
                        choices=[
                            ("first", "the first of each sentence"),
                            ("all", "up to three of each sentence"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="grades.graderconfig",
                    ),
                ),
                ("sample", models.PositiveIntegerField(db_default=0, default=0)),
                ("is_retry", models.BooleanField(default=False)),
                ("longest_reply", models.PositiveIntegerField(default=32)),
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
                    "judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="jobs",
                        to="support.supportjudge",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="SupportEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sentence_md5", models.CharField(max_length=32)),
                ("doc_id", models.CharField(max_length=300)),
                ("uid", models.CharField(blank=True, max_length=32)),
                (
                    "label",
                    models.SmallIntegerField(
                        choices=[(2, "full"), (1, "partial"), (0, "none"), (-5, "contradicts")], null=True
                    ),
                ),
                (
                    "seen_label",
                    models.SmallIntegerField(
                        choices=[(2, "full"), (1, "partial"), (0, "none"), (-5, "contradicts")], null=True
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.topic"
                    ),
                ),
                (
                    "seen_judge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="support.supportjudge",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "indexes": [models.Index(fields=["topic", "by"], name="support_events_by_person")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("uid", ""), _negated=True),
                        fields=("by", "uid"),
                        name="support_event_once_a_request",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SupportLabel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sentence_md5", models.CharField(max_length=32)),
                ("doc_id", models.CharField(max_length=300)),
                (
                    "label",
                    models.SmallIntegerField(
                        choices=[(2, "full"), (1, "partial"), (0, "none"), (-5, "contradicts")], null=True
                    ),
                ),
                ("reply", models.TextField(blank=True)),
                ("problem", models.TextField(blank=True, db_default="", default="")),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "job",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="labels",
                        to="support.supportjob",
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="support.supportjudge",
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("judge", "topic", "sentence_md5", "doc_id"),
                        name="one_label_per_judge_and_citation",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LabelledAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("after_prediction_of", models.CharField(blank=True, max_length=200)),
                ("labels", models.JSONField()),
                ("foreign", models.JSONField(default=dict)),
                (
                    "judge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labelled_answers",
                        to="support.supportjudge",
                    ),
                ),
                (
                    "response",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labelled_answers",
                        to="corpus.response",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("judge", "response"), name="an_answer_is_labelled_once_by_a_judge"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("judge", None)),
                        fields=("response",),
                        name="an_answer_is_labelled_once_by_people",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SupportSettings",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "citations",
                    models.CharField(
                        choices=[
                            ("first", "the first of each sentence"),
                            ("all", "up to three of each sentence"),
                        ],
                        default="first",
                        max_length=10,
                    ),
                ),
                ("sample", models.PositiveIntegerField(null=True)),
                ("contradicts", models.BooleanField(default=False)),
                (
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="support_settings",
                        to="corpus.collection",
                    ),
                ),
                (
                    "shown_judge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="support.supportjudge",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SupportChunk",
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
                        to="support.supportjob",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["state", "lease_until"], name="support_chunks_by_state")],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="support_chunk_number_once_a_job")
                ],
            },
        ),
    ]
