import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("corpus", "0011_grader_options"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="state",
            field=models.CharField(
                choices=[("submitted", "submitted"), ("accepted", "accepted"), ("withdrawn", "withdrawn")],
                default="accepted",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="team",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="run",
            name="task",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="run",
            name="type",
            field=models.CharField(
                blank=True,
                choices=[("", "unknown"), ("automatic", "automatic"), ("manual", "manual")],
                default="",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="priority",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="description",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="run",
            name="tags",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="run",
            name="submitted_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="submitted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="version",
            field=models.PositiveIntegerField(default=1),
        ),
    ]
