import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models

import rubricweb.arena.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("corpus", "0020_being_deleted"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Arena",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "drawing",
                    models.CharField(
                        choices=[
                            (
                                "sharpen",
                                "to sharpen the board: the least certain pair, on the topic with fewest votes",
                            ),
                            ("random", "at random: every pair and topic is equally likely"),
                        ],
                        default="sharpen",
                        max_length=20,
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=rubricweb.arena.models.new_seed)),
                ("is_board_open", models.BooleanField(default=False)),
                (
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="arena",
                        to="corpus.collection",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Battle",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("left_digest", models.CharField(max_length=64)),
                ("right_digest", models.CharField(max_length=64)),
                ("number", models.PositiveIntegerField()),
                (
                    "drawn",
                    models.CharField(
                        choices=[
                            ("sharpen", "drawn to sharpen the board"),
                            ("random", "drawn at random"),
                            ("repeat", "drawn again after somebody else, to measure how far voters agree"),
                            ("chosen", "chosen by name"),
                        ],
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("names_shown_at", models.DateTimeField(blank=True, null=True)),
                ("skipped_at", models.DateTimeField(blank=True, null=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles",
                        to="corpus.collection",
                    ),
                ),
                (
                    "left",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles_on_the_left",
                        to="corpus.run",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="battles",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "right",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="battles_on_the_right",
                        to="corpus.run",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="battles", to="corpus.topic"
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "answer",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("left", "left better"),
                            ("tie", "tie"),
                            ("right", "right better"),
                            ("both_bad", "both bad"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "evidence",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("left", "left better"),
                            ("tie", "tie"),
                            ("right", "right better"),
                            ("both_bad", "both bad"),
                        ],
                        max_length=10,
                    ),
                ),
                ("is_withdrawn", models.BooleanField(default=False)),
                ("is_blind", models.BooleanField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("uid", models.UUIDField()),
                (
                    "battle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="votes", to="arena.battle"
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
            },
        ),
        migrations.AddConstraint(
            model_name="battle",
            constraint=models.UniqueConstraint(
                models.F("person"),
                models.F("topic"),
                django.db.models.functions.comparison.Least("left", "right"),
                django.db.models.functions.comparison.Greatest("left", "right"),
                name="battle_once_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="battle",
            constraint=models.UniqueConstraint(
                fields=("collection", "person", "number"), name="battle_number_once_a_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="battle",
            constraint=models.CheckConstraint(
                condition=models.Q(("left", models.F("right")), _negated=True), name="battle_is_of_two_runs"
            ),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.UniqueConstraint(fields=("battle", "number"), name="vote_number_once_a_battle"),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.UniqueConstraint(fields=("battle", "uid"), name="vote_request_once_a_battle"),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answer", ""), ("evidence", ""), ("is_withdrawn", True)),
                    models.Q(("is_withdrawn", False), models.Q(("answer", ""), _negated=True)),
                    _connector="OR",
                ),
                name="vote_says_something_or_is_withdrawn",
            ),
        ),
    ]
