from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0005_samples_for_sums"),
    ]

    operations = [
        migrations.AlterField(
            model_name="campaign",
            name="mode",
            field=models.CharField(
                choices=[
                    ("blind", "blind: rate first, then see the grader's rating"),
                    ("assisted", "assisted: rate beside the grader's rating"),
                    ("mixed", "mixed: blind or assisted at random for each pair and assessor"),
                ],
                default="blind",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="passage_order",
            field=models.CharField(
                choices=[
                    ("topic", "by topic: all items of a passage together, topic after topic"),
                    ("board", "by value for the leaderboard: all items of a passage together"),
                    ("cell", "in the order drawn, each pair by itself"),
                ],
                default="topic",
                max_length=20,
            ),
        ),
    ]
