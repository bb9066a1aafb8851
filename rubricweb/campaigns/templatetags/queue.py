"""For forms of the queue."""

from __future__ import annotations

from uuid import UUID

from django import template

from rubricweb.campaigns.queue.models import new_uid as made

register = template.Library()


@register.simple_tag
def new_uid() -> UUID:
    """A uid by which the server recognizes a form that is sent twice."""
    return made()
