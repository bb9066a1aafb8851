"""Django looks for models here; each part of the room keeps its own."""

from rubricweb.review.flags.models import Flag, FlagEvent
from rubricweb.review.views_saved.models import SavedView

__all__ = ["Flag", "FlagEvent", "SavedView"]
