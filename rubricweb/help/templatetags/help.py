"""`{% help_url %}`: the page of the help that explains the present screen."""

from __future__ import annotations

from django import template
from django.template import Context

from rubricweb.help.pages import help_for

register = template.Library()


@register.simple_tag(takes_context=True)
def help_url(context: Context) -> str:
    match = getattr(context.get("request"), "resolver_match", None)
    return help_for(match.view_name if match else "")
