"""The place of a page among the tabs that the signed-in person has."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.template import Context

from rubricweb.accounts import roles
from rubricweb.home.tabs import Screen, Tab, screen_at, screens_for

register = template.Library()


@dataclass(frozen=True, slots=True)
class TabPlace:
    tabs: tuple[tuple[Tab, tuple[Screen, ...]], ...]
    """The tabs, with the screens below each that the person's role opens."""
    screen: Screen | None
    """The one that the page is, or lies below."""
    is_screen: bool = False
    """It is that screen itself."""

    @property
    def side(self) -> tuple[Tab, tuple[Screen, ...]] | None:
        """Return the tab whose screens stand in a list at the left."""
        here = ((tab, screens) for tab, screens in self.tabs if tab.has_list and self.screen in tab.entries)
        return next(here, None)


@register.simple_tag(takes_context=True)
def place_among_tabs(context: Context) -> TabPlace:
    """Return the tabs of the context's `collection`; none for outsiders and where there is no collection."""
    request, collection = context.get("request"), context.get("collection")
    match = request.resolver_match if request else None  # none of an error page
    if request is None or match is None or not collection or not request.user.is_authenticated:
        return TabPlace((), None)
    role = roles.role_of(request.user, collection)
    screen = screen_at(match.view_name, role)
    is_screen = screen is not None and screen.route == match.view_name
    tabs = screens_for(role, is_cold=bool(collection.cold_at)) if role else ()
    return TabPlace(tabs, screen, is_screen)
