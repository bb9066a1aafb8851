"""For forms of the queue."""

from __future__ import annotations

from uuid import UUID

from django import template

from rubricweb.campaigns.queue.models import new_uid as made

register = template.Library()


@register.simple_tag
def new_uid() -> UUID:
    """A form that is sent twice is known again by it."""
    return made()
