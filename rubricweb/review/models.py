"""Django looks for models here; each part of the room keeps its own."""

from rubricweb.review.flags.models import Flag, FlagEvent

__all__ = ["Flag", "FlagEvent"]
