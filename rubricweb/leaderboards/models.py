"""The tables of this app; boards themselves are computed and never stored."""

from rubricweb.leaderboards.public.models import PublicBoard
from rubricweb.leaderboards.watch.models import BoardWatch

__all__ = ["BoardWatch", "PublicBoard"]
