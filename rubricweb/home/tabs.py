"""The five tabs of a collection and the screens below each.

The bar, the menus and the search of screens are made from this one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from rubricweb.accounts import roles
from rubricweb.accounts.cold_storage import SERVED_COLD
from rubricweb.corpus.models import Collection

MOST_ENTRIES = 6
"""Screens below one tab."""


@dataclass(frozen=True, slots=True)
class Screen:
    name: str
    route: str
    needed: roles.Role = roles.TO_VIEW
    keywords: str = ""
    """Words by which people look for it besides its name."""
    pages: tuple[str, ...] = ()
    """What is reached from it: routes such as `review:topic`, or whole rooms such as `editor:`."""


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    entries: tuple[Screen, ...]
    has_list: bool = False
    """Its screens stand in a list at the left of each; those of other tabs in a menu at the tab."""

    def visible_to(self, role: roles.Role) -> tuple[Screen, ...]:
        return tuple(entry for entry in self.entries if role.includes(entry.needed))


TABS = (
    Tab(
        "Topics",
        (
            Screen(
                "Topics",
                "home:collection",
                keywords="queries questions bank rubric grid",
                pages=(
                    "editor:",
                    "review:topic",
                    "review:cell",
                    "review:bulk",
                    "review:passage",
                    "review:response",
                ),
            ),
            Screen(
                "Problems",
                "review:problems",
                keywords="misleading spurious uncovered near-duplicates copies too easy",
                pages=("review:problems-search",),
            ),
            Screen(
                "Attributes",
                "corpus:topic-attributes",
                roles.TO_EDIT_BANK,
                "categories scores intrinsic diverse sample model",
                pages=("corpus:attributes-",),
            ),
            Screen(
                "History",
                "editor:history",
                keywords="versions ledger changes restore diff",
                pages=("editor:version-restore",),
            ),
        ),
    ),
    Tab(
        "Work",
        (
            Screen("My work", "home:work", keywords="review waiting overview", pages=("review:",)),
            Screen(
                "Campaigns",
                "campaigns:campaigns",
                keywords="queue rate pairs cells assessors",
                pages=("campaigns:",),
            ),
            Screen(
                "Decide", "campaigns:decide", roles.TO_DECIDE, "adjudication conflicts assessors overruled"
            ),
            Screen("Verify", "review:verify", keywords="verify grading check right wrong"),
            Screen(
                "Label",
                "support:label",
                roles.TO_LABEL,
                "support citations passages sentences",
                pages=("support:take-back",),
            ),
            Screen(
                "Vote",
                "arena:vote",
                roles.TO_VOTE,
                "arena battle answers side by side ask question by name",
                pages=("arena:",),
            ),
        ),
    ),
    Tab(
        "Results",
        (
            Screen(
                "Leaderboard",
                "leaderboards:board",
                keywords="board ranks scores runs",
                pages=("leaderboards:",),
            ),
            Screen(
                "Compare",
                "leaderboards:compare",
                keywords="two runs difference significant better topic attribute what moved then versions",
            ),
            Screen(
                "How sure are we",
                "leaderboards:sure",
                keywords="meta-evaluation correlation tau agreement kappa influence calibration figures",
                pages=(
                    *("leaderboards:official-add", "leaderboards:official-remove"),
                    *("graders:calibrate", "graders:card-file", "graders:badge"),
                ),
            ),
            Screen(
                "Support",
                "support:board",
                keywords="citations attribution sentences precision recall ask a model",
                pages=("support:",),
            ),
            Screen(
                "Votes",
                "arena:board",
                roles.TO_VIEW,
                "arena bradley terry strength rubric disagree preference models judges",
                pages=tuple(
                    f"arena:{name}"
                    for name in (
                        *("board-file", "votes-file", "keep-board", "settings"),
                        *("judges", "ask-judge"),
                    )
                ),
            ),
            Screen(
                "Share",
                "releases:share",
                keywords="export download qrels files publish release",
                pages=("exports:", "releases:", "leaderboards:public-close"),
            ),
        ),
    ),
    Tab(
        "Runs",
        (
            Screen("Runs", "corpus:runs", roles.TO_ORGANIZE, "accept withdraw", pages=("corpus:run-edit",)),
            Screen(
                "Submissions",
                "submissions:desk",
                roles.TO_ORGANIZE,
                "calls teams deadline",
                pages=("submissions:",),
            ),
            Screen(
                "Make a run",
                "systems:make",
                roles.TO_ORGANIZE,
                "baseline bm25 rerank ragnarok rifer generate",
                pages=("systems:",),
            ),
            Screen("Pool", "grades:pool", roles.TO_ORGANIZE, "depth passages"),
        ),
    ),
    Tab(
        "Setup",
        (
            Screen(
                "Import",
                "imports:imports",
                roles.TO_ORGANIZE,
                "upload topics passages runs grades",
                pages=("imports:",),
            ),
            Screen(
                "Graders",
                "graders:graders",
                roles.TO_ORGANIZE,
                "model prompts write try",
                pages=("graders:",),
            ),
            Screen(
                "People",
                "corpus:people",
                roles.TO_ORGANIZE,
                "members roles invite link team password",
                pages=(
                    "corpus:member",
                    "corpus:password-link",
                    "corpus:member-remove",
                    "corpus:invitations",
                    "corpus:invitation-revoke",
                ),
            ),
            Screen("Jobs", "grades:jobs", keywords="grading progress workers", pages=("grades:",)),
            Screen(
                "Settings",
                "corpus:settings",
                roles.TO_ORGANIZE,
                "archive delete webhooks",
                pages=("corpus:", "archives:", "webhooks:"),
            ),
            Screen("Log", "corpus:audit", roles.TO_ORGANIZE, "audit who changed what"),
        ),
        has_list=True,
    ),
    Tab(
        "Submit",
        (
            Screen(
                "Submit", "submissions:submit", roles.TO_SUBMIT, "runs upload team topics", ("submissions:",)
            ),
        ),
    ),
    Tab("Results", (Screen("Results", "home:results", roles.TO_SUBMIT, "scores board published"),)),
)
OF_TEAMS = 2
"""The last tabs, which participants have instead of the others."""
SITE = (
    Screen("Home", "home:home", keywords="waiting tasks collections"),
    Screen("Help", "help:index", keywords="documentation tutorials guide"),
    Screen("New collection", "imports:new-collection", keywords="create"),
    Screen("Restore an archive", "archives:restore", keywords="collection upload backup"),
    Screen(
        "Your account",
        "accounts:account",
        keywords="password density keys keyboard shortcuts tokens API scripts close",
    ),
)
MORE = (
    Screen("Flags", "review:flags", keywords="remarks comments"),
    Screen("New campaign", "campaigns:campaign-new", roles.TO_ORGANIZE, "rate pairs assessors"),
    Screen("New call for submissions", "submissions:call-new", roles.TO_ORGANIZE, "deadline teams"),
    Screen("Webhooks", "webhooks:webhooks", roles.TO_ORGANIZE, "notify events secret endpoint"),
    Screen("Archive", "archives:archive", roles.TO_ORGANIZE, "backup whole collection"),
)
"""Screens of a collection that stand behind an entry, and that people look for by name."""
OF_STAFF = ("imports:new-collection", "archives:restore")
"""Routes of the site that only those open who may create collections."""


@cache
def screens_for(role: roles.Role, *, is_cold: bool = False) -> tuple[tuple[Tab, tuple[Screen, ...]], ...]:
    """Return the tabs of a member with the screens that the role opens; tabs without any are left out.

    Participants have their own, and no others: all other pages answer them as outsiders. A collection in cold
    storage has its boards.
    """
    offered = TABS[-OF_TEAMS:] if role is roles.Role.PARTICIPANT else TABS[:-OF_TEAMS]
    screens_by_tab = ((tab, tab.visible_to(role)) for tab in offered)
    if is_cold:
        screens_by_tab = (
            (tab, tuple(screen for screen in screens if screen.route in SERVED_COLD))
            for tab, screens in screens_by_tab
        )
    return tuple((tab, screens) for tab, screens in screens_by_tab if screens)


@cache
def screen_at(route: str, role: roles.Role | None = None) -> Screen | None:
    """Return the screen of a route such as `review:topic`, or the one that the route is reached from.

    Those of the role come first: what teams submit lies below Submit for them, and for organizers elsewhere.

    >>> screen_at("review:topic").name, screen_at("core:patterns")
    ('Topics', None)
    >>> screen_at("submissions:submission", roles.Role.PARTICIPANT).name
    'Submit'
    """
    room = route.partition(":")[0] + ":"
    own = _pages(screens for _, screens in screens_for(role)) if role else {}
    return own.get(route) or own.get(room) or _BY_ROUTE.get(route) or _BY_ROUTE.get(room)


def _pages(of_tabs: Iterable[tuple[Screen, ...]]) -> dict[str, Screen]:
    """Return screens by the routes of their pages; the first of several that name a room has it."""
    pages: dict[str, Screen] = {}
    for screen in (screen for screens in of_tabs for screen in screens):
        for page in (*screen.pages, screen.route):
            pages.setdefault(page, screen)
    return pages


_BY_ROUTE = _pages(tab.entries for tab in TABS)


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


@register.simple_tag
def tab_bar(bar: TabPlace, collection: Collection | None) -> SafeString:
    """Return the tabs; the same for all whose role opens the same screens."""
    return _bar(bar, collection.slug, collection.name) if bar.tabs and collection else SafeString("")


@lru_cache(maxsize=512)
def _bar(bar: TabPlace, slug: str, name: str) -> SafeString:
    return render_to_string("home/_tabs.html", {"bar": bar, "collection": {"slug": slug, "name": name}})
