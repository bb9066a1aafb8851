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
            name="Call",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("task", models.CharField(max_length=100)),
                (
                    "takes",
                    models.CharField(
                        choices=[("responses", "generated answers"), ("run", "TREC runs")],
                        default="responses",
                        max_length=20,
                    ),
                ),
                ("rules", models.JSONField()),
                ("opens_at", models.DateTimeField()),
                ("deadline", models.DateTimeField()),
                ("time_zone", models.CharField(default="UTC", max_length=60)),
                ("runs_per_team", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("asks_priority", models.BooleanField(default=False)),
                ("checks_documents", models.BooleanField(default=False)),
                (
                    "passages_of",
                    models.CharField(
                        choices=[
                            ("sentence", "each sentence"),
                            ("paragraph", "each paragraph"),
                            ("response", "the whole response"),
                            ("whole", "the whole response, however long"),
                        ],
                        default="sentence",
                        max_length=20,
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("shows_scores", models.BooleanField(db_default=False, default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("deadline", "task"),
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "task"), name="one_call_per_task"),
                    models.CheckConstraint(
                        condition=models.Q(("opens_at__lt", models.F("deadline"))),
                        name="calls_open_before_their_deadline",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Submission",
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
                ("team", models.CharField(max_length=100)),
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
                ("name", models.CharField(max_length=300)),
                ("size", models.PositiveBigIntegerField(default=0)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("is_kept", models.BooleanField(default=True)),
                ("received_at", models.DateTimeField()),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "being checked"),
                            ("refused", "refused"),
                            ("late", "late"),
                            ("rejected", "rejected"),
                            ("taken", "taken"),
                            ("replaced", "replaced"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("run_tag", models.CharField(blank=True, max_length=200)),
                ("findings", models.JSONField(blank=True, default=list)),
                ("errors", models.PositiveIntegerField(default=0)),
                ("warnings", models.PositiveIntegerField(default=0)),
                ("topics", models.PositiveIntegerField(default=0)),
                ("rules_version", models.PositiveIntegerField(default=0)),
                ("let_in_at", models.DateTimeField(blank=True, null=True)),
                ("rejection", models.TextField(blank=True, db_default="", default="")),
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
                    "call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submissions",
                        to="submissions.call",
                    ),
                ),
                (
                    "let_in_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replaced_by",
                        to="submissions.submission",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="submissions",
                        to="corpus.run",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "rejected"), _negated=True),
                            models.Q(("rejection", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="rejected_files_have_a_reason",
                    )
                ],
            },
        ),
    ]
