"""Makes a draw for each campaign whose random cells came from all cells of its items, or from deciding ones.

Ratings that were given in such a campaign to a random cell point to its draw. A rating that was marked as
random, and whose campaign is gone, points to a draw without items: it stays random, and no estimate uses it.
"""

from django.db import migrations
from django.db.models import F

CELLS, DECIDING = "cells", "deciding"
DESIGNS = {"all": CELLS, "deciding": DECIDING}


def make_draws(apps, schema_editor):
    campaigns = apps.get_model("review", "Campaign").objects.filter(
        cells_taken__in=DESIGNS, is_standing=False
    )
    for campaign in campaigns.filter(cells__is_random=True).distinct():
        random = campaign.cells.filter(is_random=True)
        campaign.draw = _draw_of(apps, campaign, random)
        campaign.save(update_fields=["draw"])
        _link(apps, campaign.draw, random)
    _keep_the_others(apps)


def _draw_of(apps, campaign, random):
    is_deciding = campaign.cells_taken == DECIDING
    draw = apps.get_model("grades", "Draw").objects.create(
        collection_id=campaign.collection_id,
        design=DESIGNS[campaign.cells_taken],
        cutoff=campaign.cutoff if is_deciding else None,
        revisions=_revisions(apps, campaign),
    )
    if is_deciding:
        draw.configs.set(set(random.exclude(config=None).values_list("config", flat=True)))
    return draw


def _revisions(apps, campaign):
    """The campaign's own wordings, and those that the bank asked when it was made and still asks."""
    own = set(campaign.cells.values_list("revision", flat=True))
    items = apps.get_model("banks", "Item").objects.filter(
        bank=campaign.bank_id,
        kind__in=campaign.kinds,
        retired_at=None,
        changes__revision=F("revision"),
        changes__at__lte=campaign.at,
    )
    if not campaign.is_representative:
        items = items.filter(topic__in=set(campaign.cells.values_list("topic", flat=True)))
    return sorted(own | set(items.exclude(revision__text="").values_list("revision", flat=True)))


def _link(apps, draw, random):
    turns = apps.get_model("review", "Turn").objects.filter(cell__in=random, state="submitted")
    ratings = apps.get_model("grades", "HumanGrade").objects.filter(how__in=("blind", "assisted"))
    for person, revision, passage in turns.values_list("person", "cell__revision", "cell__passage"):
        ratings.filter(by=person, revision=revision, passage=passage, draw=None).update(draw=draw)


def _keep_the_others(apps):
    left = apps.get_model("grades", "HumanGrade").objects.filter(is_random=True, draw=None)
    for collection in set(left.values_list("topic__collection", flat=True)):
        draw = apps.get_model("grades", "Draw").objects.create(collection_id=collection, design=CELLS)
        left.filter(topic__collection=collection).update(draw=draw)


def mark_ratings(apps, schema_editor):
    ratings = apps.get_model("grades", "HumanGrade").objects
    for draw in apps.get_model("grades", "Draw").objects.filter(design=CELLS):
        ratings.filter(draw=draw).update(is_random=True)
    ratings.filter(draw__isnull=False).update(draw=None)


class Migration(migrations.Migration):
    dependencies = [
        ("banks", "0007_importance_suggestions"),
        ("grades", "0013_draws"),
        ("review", "0006_campaign_draws"),
    ]

    operations = [migrations.RunPython(make_draws, mark_ratings)]
