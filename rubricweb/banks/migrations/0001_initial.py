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
    ]

    operations = [
        migrations.CreateModel(
            name="Bank",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="banks",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "name"), name="bank_name_once_a_collection")
                ],
            },
        ),
        migrations.CreateModel(
            name="BankTopic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("foreign", models.JSONField(default=dict)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bank_topics",
                        to="banks.bank",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bank_topics",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("bank", "topic"), name="topic_once_a_bank")],
            },
        ),
        migrations.CreateModel(
            name="BankVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=120)),
                ("note", models.TextField(blank=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="banks.bank"
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
            ],
            options={
                "ordering": ("-number",),
                "constraints": [
                    models.UniqueConstraint(fields=("bank", "number"), name="version_number_once_a_bank"),
                    models.UniqueConstraint(fields=("bank", "name"), name="version_name_once_a_bank"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftRequest",
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
                ("error", models.TextField(blank=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "asks",
                    models.CharField(
                        choices=[
                            ("items", "for questions or nuggets"),
                            ("importance", "the importance of each nugget"),
                        ],
                        default="items",
                        max_length=20,
                    ),
                ),
                ("facet_id", models.CharField(blank=True, max_length=200)),
                (
                    "kind",
                    models.CharField(choices=[("question", "question"), ("nugget", "nugget")], max_length=20),
                ),
                ("backend", models.CharField(max_length=40)),
                ("llm", models.CharField(max_length=200)),
                ("prompt_id", models.CharField(max_length=100)),
                ("reply", models.TextField(blank=True)),
                ("is_dismissed", models.BooleanField(default=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft_requests",
                        to="banks.bank",
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
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft_requests",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "indexes": [models.Index(fields=["bank", "topic", "state"], name="draft_requests_by_place")],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("accepted", "Accepted"), ("rejected", "Rejected")],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="banks.draftrequest",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "waiting")),
                            models.Q(
                                models.Q(("state", "waiting"), _negated=True), ("decided_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="draft_waits_until_decided",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(choices=[("question", "question"), ("nugget", "nugget")], max_length=20),
                ),
                ("facet_id", models.CharField(blank=True, max_length=200)),
                ("version", models.PositiveIntegerField(default=1)),
                ("position", models.PositiveIntegerField()),
                (
                    "importance",
                    models.CharField(
                        choices=[("vital", "vital"), ("okay", "okay"), ("avoid", "to avoid")],
                        default="vital",
                        max_length=10,
                    ),
                ),
                ("weight", models.FloatField(default=1.0)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("foreign", models.JSONField(blank=True, null=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="banks.bank"
                    ),
                ),
                (
                    "merged_into",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="duplicates",
                        to="banks.item",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="corpus.topic"
                    ),
                ),
            ],
            options={
                "ordering": ("position", "pk"),
                "indexes": [models.Index(fields=["bank", "topic"], name="items_by_bank_and_topic")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("version__gte", 1)), name="item_version_starts_at_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__gte", -10), ("weight__lte", 10)),
                        name="item_weight_within_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportanceSuggestion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                (
                    "importance",
                    models.CharField(choices=[("vital", "vital"), ("okay", "okay")], max_length=10),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("accepted", "Accepted"),
                            ("left", "Left"),
                            ("agreed", "Agreed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "draft",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="importance_suggestions",
                        to="banks.draft",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="suggestions",
                        to="banks.draftrequest",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="importance_suggestions",
                        to="banks.item",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("draft__isnull", True), ("item__isnull", False)),
                            models.Q(("draft__isnull", False), ("item__isnull", True)),
                            _connector="OR",
                        ),
                        name="suggestion_is_of_an_item_or_a_draft",
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="draft",
            name="item",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="draft",
                to="banks.item",
            ),
        ),
        migrations.CreateModel(
            name="ItemRevision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=400)),
                ("text", models.TextField(blank=True)),
                ("is_secret", models.BooleanField(default=False)),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_secret", True)),
                        fields=["topic"],
                        name="secret_wordings_by_topic",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("topic", "uid"), name="one_revision_per_wording")
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "verb",
                    models.CharField(
                        choices=[
                            ("imported", "Imported"),
                            ("added", "Added"),
                            ("reworded", "Reworded"),
                            ("retired", "Retired"),
                            ("restored", "Restored"),
                            ("keyed", "answer key changed"),
                            ("weighed", "Weighed"),
                            ("made secret", "made secret"),
                            ("made public", "made public"),
                        ],
                        max_length=20,
                    ),
                ),
                ("detail", models.CharField(blank=True, max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
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
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="changes", to="banks.item"
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="banks.itemrevision"
                    ),
                ),
            ],
            options={
                "ordering": (models.OrderBy(models.F("number"), descending=True),),
                "constraints": [
                    models.UniqueConstraint(fields=("item", "number"), name="one_change_per_version")
                ],
            },
        ),
        migrations.AddField(
            model_name="item",
            name="revision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="items", to="banks.itemrevision"
            ),
        ),
        migrations.CreateModel(
            name="AnswerKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.CharField(max_length=300)),
                ("at", models.DateTimeField(auto_now_add=True)),
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
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer_keys",
                        to="banks.itemrevision",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(fields=("revision", "text"), name="answer_key_once_a_wording")
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("spans", models.JSONField()),
                (
                    "change",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="source",
                        to="banks.itemchange",
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="corpus.passage"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="VersionItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "importance",
                    models.CharField(
                        choices=[("vital", "vital"), ("okay", "okay"), ("avoid", "to avoid")], max_length=10
                    ),
                ),
                ("weight", models.FloatField()),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="banks.item"
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="banks.itemrevision"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="banks.bankversion",
                    ),
                ),
            ],
            options={
                "ordering": ("position", "pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("version", "item"), name="item_once_a_version")
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retired_at__isnull", True)),
                fields=("bank", "revision", "kind"),
                name="one_active_item_per_wording",
            ),
        ),
        migrations.CreateModel(
            name="DraftJob",
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
                    "kind",
                    models.CharField(choices=[("question", "question"), ("nugget", "nugget")], max_length=20),
                ),
                ("backend", models.CharField(max_length=40)),
                ("llm", models.CharField(max_length=200)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft_jobs",
                        to="banks.bank",
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
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="DraftChunk",
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
                ("facet_id", models.CharField(blank=True, max_length=200)),
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
                        to="banks.draftjob",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["state", "lease_until"], name="draft_chunks_by_state")],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="draft_chunk_number_once_a_job")
                ],
            },
        ),
    ]
