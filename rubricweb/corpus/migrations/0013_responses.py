import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0012_states_of_runs"),
    ]

    operations = [
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
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="responses",
                        to="corpus.run",
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
    ]
