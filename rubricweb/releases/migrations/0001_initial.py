import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("corpus", "0001_initial"),
        ("leaderboards", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Release",
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
                ("title", models.CharField(max_length=200)),
                ("license", models.CharField(blank=True, max_length=200)),
                ("citation", models.TextField(blank=True)),
                ("contact", models.CharField(blank=True, max_length=200)),
                ("has_runs", models.BooleanField(default=False)),
                ("is_anonymous", models.BooleanField(default=False)),
                ("freezes_boards", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("doing", models.CharField(blank=True, max_length=80)),
                ("done", models.PositiveSmallIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("size", models.PositiveBigIntegerField(default=0)),
                ("files", models.JSONField(default=list)),
                ("left_out", models.JSONField(default=list)),
                ("names", models.JSONField(default=dict)),
                ("still_named", models.JSONField(default=list)),
                ("boards", models.ManyToManyField(related_name="releases", to="leaderboards.publicboard")),
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
                        related_name="releases",
                        to="corpus.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
    ]
