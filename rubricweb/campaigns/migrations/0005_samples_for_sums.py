from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0004_order_by_rank"),
    ]

    operations = [
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
                    ("answers", "a sample that estimates every run's nugget scores, one passage a topic"),
                    ("passages", "whole passages, a sample that estimates every run's P@k"),
                ],
                default="all",
                max_length=20,
            ),
        ),
    ]
