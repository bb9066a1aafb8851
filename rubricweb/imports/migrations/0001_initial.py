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
            name="Import",
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
                    "step",
                    models.CharField(
                        choices=[("check", "check"), ("write", "import"), ("undo", "undo")],
                        default="check",
                        max_length=20,
                    ),
                ),
                ("options", models.JSONField(default=dict)),
                ("doing", models.CharField(blank=True, max_length=340)),
                ("done", models.PositiveBigIntegerField(default=0)),
                ("total", models.PositiveBigIntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("before", models.JSONField(default=dict)),
                ("notes", models.JSONField(default=list)),
                ("problem", models.TextField(blank=True)),
                ("problem_file", models.CharField(blank=True, max_length=300)),
                ("problem_line", models.PositiveBigIntegerField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("added", models.JSONField(default=dict)),
                ("undone_at", models.DateTimeField(null=True)),
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
                        related_name="imports",
                        to="corpus.collection",
                    ),
                ),
                (
                    "undone_by",
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
            name="ImportFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=300)),
                ("size", models.PositiveBigIntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("chosen_format", models.CharField(blank=True, max_length=60)),
                ("fitting_formats", models.JSONField(default=list)),
                ("format", models.CharField(blank=True, max_length=60)),
                ("author", models.CharField(blank=True, max_length=200)),
                ("read", models.CharField(blank=True, max_length=80)),
                ("preview", models.JSONField(default=list)),
                ("problem", models.TextField(blank=True)),
                ("problem_line", models.PositiveBigIntegerField(null=True)),
                ("is_left_out", models.BooleanField(default=False)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="imports.import"
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
            },
        ),
    ]
