"""The one table of this app; boards themselves are computed and never stored."""

from rubricweb.leaderboards.public.models import PublicBoard

__all__ = ["PublicBoard"]
