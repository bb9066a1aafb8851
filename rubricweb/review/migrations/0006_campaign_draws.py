import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("grades", "0013_draws"),
        ("review", "0005_deciding_cells"),
    ]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="draw",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="campaign",
                to="grades.draw",
            ),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="cells_taken",
            field=models.CharField(
                choices=[
                    ("all", "all"),
                    ("high", "graded at the threshold or above"),
                    ("unsure", "failed or unsure"),
                    ("disagreeing", "graders disagree, or grader and judgment"),
                    ("deciding", "those that decide a run's Rubric-Cover"),
                    ("cover", "a sample that estimates every run's Rubric-Cover"),
                ],
                default="all",
                max_length=20,
            ),
        ),
    ]
