"""Where the number of missing grades is told."""

from __future__ import annotations

from urllib.parse import urlencode

from django import template
from django.urls import reverse

from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection, Topic

register = template.Library()


@register.simple_tag
def missing_url(collection: Collection, bank: Bank | None = None, topic: Topic | None = None) -> str:
    """The address of the grades missing in a bank, a topic, both, or the whole collection."""
    scope = {name: row.pk for name, row in {"bank": bank, "topic": topic}.items() if row}
    address = reverse("grades:missing", args=[collection.slug])
    return f"{address}?{urlencode(scope)}" if scope else address
