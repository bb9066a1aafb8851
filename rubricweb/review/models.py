"""Django looks for models here; each part of the room keeps its own."""

from rubricweb.review.flags.models import Flag, FlagEvent
from rubricweb.review.queue.models import Campaign, CampaignCell, Turn

__all__ = ["Campaign", "CampaignCell", "Flag", "FlagEvent", "Turn"]
