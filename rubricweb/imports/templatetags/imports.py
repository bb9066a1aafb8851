"""Counts of imports in words."""

from __future__ import annotations

from django import template

from rubricweb.imports import queries

register = template.Library()


@register.filter
def import_summary(counts: dict[str, dict[str, int]]) -> str:
    return queries.summary(counts)
