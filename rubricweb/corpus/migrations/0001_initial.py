import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import rubricweb.core.models
import rubricweb.corpus.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Collection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("min_relevant", models.PositiveSmallIntegerField(default=1)),
                ("grader_backend", models.CharField(default="lexical", max_length=40)),
                ("grader_llm", models.CharField(default="lexical", max_length=200)),
                ("grader_prompts", models.JSONField(blank=True, default=list)),
                ("grader_options", models.JSONField(blank=True, default=dict)),
                ("answers_by", models.CharField(blank=True, default="", max_length=64)),
                ("default_grader", models.CharField(blank=True, default="", max_length=64)),
                ("pool_rule", models.JSONField(blank=True, default=dict)),
                ("stamp", models.PositiveBigIntegerField(default=rubricweb.core.models.new_stamp)),
                (
                    "name_salt",
                    models.CharField(default=rubricweb.corpus.models.new_salt, editable=False, max_length=40),
                ),
                (
                    "blind_sums",
                    models.CharField(
                        choices=[
                            ("left_out", "show them without those pairs"),
                            ("refused", "show none until the pairs are rated"),
                        ],
                        default="left_out",
                        max_length=20,
                    ),
                ),
                ("public_counts_blind", models.BooleanField(default=False)),
                ("shows_run_tags", models.BooleanField(default=False)),
                ("requires_calibration", models.BooleanField(default=False)),
                ("assessors_edit", models.BooleanField(default=True)),
                ("assessors_grade", models.BooleanField(default=True)),
                ("assessors_grade_up_to", models.DecimalField(decimal_places=2, default=1, max_digits=8)),
                ("is_being_deleted", models.BooleanField(default=False)),
                ("is_gone", models.BooleanField(default=False)),
                ("cold_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="DuplicateSearch",
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
                ("threshold", models.FloatField(default=0.8)),
                ("passages", models.PositiveIntegerField(default=0)),
                ("groups", models.PositiveIntegerField(default=0)),
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
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="duplicate_searches",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "duplicate searches",
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="Passage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("doc_id", models.CharField(max_length=300)),
                ("text", models.TextField()),
                ("title", models.TextField(blank=True, default="")),
                ("url", models.TextField(blank=True, default="")),
                ("headings", models.TextField(blank=True, default="")),
                ("start_char", models.PositiveIntegerField(blank=True, null=True)),
                ("end_char", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="passages",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "doc_id"), name="doc_id_once_a_collection")
                ],
                "indexes": [
                    models.Index(fields=["collection"], condition=models.Q(text=""), name="passages_textless")
                ],
            },
        ),
        migrations.CreateModel(
            name="NearDuplicate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.PositiveIntegerField()),
                (
                    "search",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="corpus.duplicatesearch",
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="near_duplicates",
                        to="corpus.passage",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["search", "group"], name="near_duplicates_by_group")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("search", "passage"), name="passage_in_one_group_a_search"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("run_tag", models.CharField(max_length=200)),
                ("is_from_file", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("submitted", "submitted"),
                            ("accepted", "accepted"),
                            ("rejected", "rejected"),
                            ("withdrawn", "withdrawn"),
                        ],
                        default="accepted",
                        max_length=20,
                    ),
                ),
                ("rejection", models.TextField(blank=True, db_default="", default="")),
                ("team", models.CharField(blank=True, max_length=100)),
                ("task", models.CharField(blank=True, max_length=100)),
                (
                    "type",
                    models.CharField(
                        blank=True,
                        choices=[("", "unknown"), ("automatic", "automatic"), ("manual", "manual")],
                        default="",
                        max_length=20,
                    ),
                ),
                ("priority", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("description", models.TextField(blank=True)),
                ("tags", models.JSONField(blank=True, default=list)),
                ("llm", models.CharField(blank=True, max_length=200)),
                ("is_closed_book", models.BooleanField(default=False)),
                ("is_made_here", models.BooleanField(default=False)),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="corpus.collection",
                    ),
                ),
                (
                    "submitted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("run_tag",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "run_tag"), name="run_tag_once_a_collection"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "rejected"), _negated=True),
                            models.Q(("rejection", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="rejected_runs_have_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("query_id", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("description", models.TextField(blank=True, default="")),
                ("narrative", models.TextField(blank=True, default="")),
                ("background", models.TextField(blank=True, default="")),
                ("limit_words", models.PositiveIntegerField(blank=True, null=True)),
                ("limit_characters", models.PositiveIntegerField(blank=True, null=True)),
                ("attributes", models.JSONField(blank=True, default=dict)),
                ("attribute_sources", models.JSONField(blank=True, default=dict)),
                ("foreign", models.JSONField(blank=True, null=True)),
                ("position", models.PositiveIntegerField()),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="topics",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("position",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "query_id"), name="query_id_once_a_collection"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Subtopic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("facet_id", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("position", models.PositiveIntegerField()),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subtopics",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "ordering": ("position",),
                "constraints": [
                    models.UniqueConstraint(fields=("topic", "facet_id"), name="facet_id_once_a_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="Response",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sentences", models.JSONField()),
                ("references", models.JSONField(blank=True, null=True)),
                ("documents", models.JSONField(blank=True, default=dict)),
                ("foreign", models.JSONField(blank=True, null=True)),
                (
                    "passages_of",
                    models.CharField(
                        choices=[
                            ("sentence", "each sentence"),
                            ("paragraph", "each paragraph"),
                            ("response", "the whole response"),
                            ("whole", "the whole response, however long"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="responses", to="corpus.run"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="responses",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "topic"), name="one_response_per_run_and_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="Ranking",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("doc_ids", models.JSONField()),
                ("scores", models.JSONField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rankings", to="corpus.run"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rankings",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "topic"), name="one_ranking_per_run_and_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="PoolSnapshot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField()),
                ("content", models.BinaryField()),
                ("passages", models.PositiveIntegerField(null=True)),
                ("chars", models.PositiveBigIntegerField(null=True)),
                (
                    "topic",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pool_snapshot",
                        to="corpus.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Pooled",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pooled_in",
                        to="corpus.passage",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pool", to="corpus.topic"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "pooled",
                "ordering": ("position",),
                "constraints": [
                    models.UniqueConstraint(fields=("topic", "passage"), name="passage_pooled_once_a_topic")
                ],
            },
        ),
        migrations.CreateModel(
            name="OfficialScore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("board", models.CharField(default="official", max_length=80)),
                ("run_tag", models.CharField(max_length=200)),
                ("value", models.FloatField()),
                ("is_rank", models.BooleanField()),
                ("measure", models.TextField(blank=True)),
                ("source", models.TextField(blank=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="official_scores",
                        to="corpus.collection",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="official_scores",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("topic__isnull", True)),
                        fields=("collection", "board", "run_tag"),
                        name="one_score_per_official_board_and_run",
                    ),
                    models.UniqueConstraint(
                        fields=("board", "run_tag", "topic"),
                        name="one_score_per_official_board_run_and_topic",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Judgment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("facet_id", models.CharField(blank=True, max_length=200)),
                ("doc_id", models.CharField(max_length=300)),
                ("relevance", models.SmallIntegerField()),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="judgments",
                        to="corpus.topic",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("topic", "facet_id", "doc_id"), name="one_judgment_per_topic_facet_doc"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OwnPrompt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("prompt_class", models.CharField(max_length=64)),
                ("version", models.CharField(max_length=20)),
                ("definition", models.JSONField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("put_away_at", models.DateTimeField(blank=True, null=True)),
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
                        related_name="prompts",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("prompt_class", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "prompt_class", "version"), name="own_prompt_once_a_collection"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AttributeJob",
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
                        related_name="attribute_jobs",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="AttributeChunk",
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
                        to="corpus.attributejob",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["state", "lease_until"], name="attribute_chunks_by_state")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("job", "number"), name="attribute_chunk_number_once_a_job"
                    )
                ],
            },
        ),
    ]
