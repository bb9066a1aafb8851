from django.db import migrations, models

ORDERS = [
    ("topic", "by topic: all items of a passage together, topic after topic"),
    ("board", "by value for the leaderboard: all items of a passage together"),
    ("cell", "none: each cell by itself, as it was drawn"),
]


class Migration(migrations.Migration):
    """Campaigns that are open already keep the order in which their cells were drawn."""

    dependencies = [("campaigns", "0001_initial")]

    operations = [
        migrations.AddField(
            "campaign", "passage_order", models.CharField(choices=ORDERS, default="cell", max_length=20)
        ),
        migrations.AlterField(
            "campaign", "passage_order", models.CharField(choices=ORDERS, default="topic", max_length=20)
        ),
    ]
