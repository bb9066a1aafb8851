"""Django looks for models here; each part of the room has its own module."""

from rubricweb.campaigns.adjudication.models import DecidedRating, Decision
from rubricweb.campaigns.queue.models import Campaign, CampaignCell, Turn

__all__ = ["Campaign", "CampaignCell", "DecidedRating", "Decision", "Turn"]
