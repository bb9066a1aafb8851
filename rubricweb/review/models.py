"""Django looks for models here; each part of the room keeps its own."""

from rubricweb.review.adjudication.models import DecidedRating, Decision
from rubricweb.review.flags.models import Flag, FlagEvent
from rubricweb.review.queue.models import Campaign, CampaignCell, Turn
from rubricweb.review.views_saved.models import SavedView

__all__ = ["Campaign", "CampaignCell", "DecidedRating", "Decision", "Flag", "FlagEvent", "SavedView", "Turn"]
