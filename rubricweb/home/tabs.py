"""The five tabs of a collection and the screens below each: the one table that the bar, the menus and the
search of screens are made from.
"""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role

MOST_ENTRIES = 6
"""Screens below one tab."""


@dataclass(frozen=True, slots=True)
class Screen:
    name: str
    route: str
    needed: Role = roles.TO_VIEW
    keywords: str = ""
    """Words by which people look for it besides its name."""
    pages: tuple[str, ...] = ()
    """What is reached from it: routes such as `editor:topic`, or whole rooms such as `editor:`."""


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    entries: tuple[Screen, ...]
    has_list: bool = False
    """Its screens stand in a list at the left of each; those of other tabs in a menu at the tab."""

    def visible_to(self, role: Role) -> tuple[Screen, ...]:
        return tuple(entry for entry in self.entries if role.includes(entry.needed))


TABS = (
    Tab(
        "Topics",
        (
            Screen(
                "Topics",
                "home:collection",
                keywords="queries questions bank rubric grid",
                pages=("editor:", "review:cell", "review:bulk", "review:response"),
            ),
            Screen(
                "Problems",
                "review:problems",
                keywords="misleading spurious uncovered near-duplicates copies too easy",
                pages=("review:problems-search",),
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
                keywords="queue rate cells assessors",
                pages=("campaigns:",),
            ),
            Screen(
                "Decide",
                "campaigns:decide",
                roles.TO_EDIT_BANK,
                "adjudication conflicts assessors overruled",
            ),
            Screen("Verify", "review:verify", keywords="verify grading check right wrong"),
            Screen("Label", "support:label", roles.TO_ASSESS, "support citations passages sentences"),
            Screen("Vote", "arena:arena", keywords="arena battle answers side by side", pages=("arena:",)),
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
                pages=("leaderboards:official-add", "leaderboards:official-remove", "calibration:"),
            ),
            Screen(
                "Support",
                "support:board",
                keywords="citations attribution sentences precision recall",
                pages=("support:",),
            ),
            Screen(
                "Votes",
                "arena:board",
                roles.TO_SEE_RUNS,
                "arena bradley terry strength",
                pages=("arena:rubric",),
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
                "prompts:graders",
                roles.TO_ORGANIZE,
                "model prompts write try",
                pages=("prompts:",),
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
    Tab("Submit", (Screen("Submit", "submissions:team", roles.TO_SUBMIT, "runs upload team"),)),
)
SITE = (
    Screen("Home", "home:home", keywords="waiting tasks collections"),
    Screen("Help", "help:index", keywords="documentation tutorials guide"),
    Screen("New collection", "imports:new-collection", keywords="create"),
    Screen("Restore a collection", "archives:restore", keywords="archive upload backup"),
    Screen("Your keys", "accounts:keys", keywords="keyboard shortcuts"),
    Screen("Your tokens", "api:tokens", keywords="API scripts"),
    Screen("Your account", "accounts:password", keywords="password density close"),
)
MORE = (
    Screen("Flags", "review:flags", keywords="remarks comments"),
    Screen("New campaign", "campaigns:campaign-new", roles.TO_ORGANIZE, "rate cells assessors"),
    Screen("Ask a model about support", "support:ask", roles.TO_ORGANIZE, "citations label"),
    Screen("Answers by name", "arena:by-name", roles.TO_ASSESS, "arena compare two runs"),
    Screen("Ask", "arena:ask", roles.TO_ASSESS, "arena question fresh answers systems"),
    Screen("Rubric and votes", "arena:rubric", roles.TO_SEE_RUNS, "arena explain disagree preference"),
    Screen("New call for submissions", "submissions:call-new", roles.TO_ORGANIZE, "deadline teams"),
    Screen("Webhooks", "webhooks:webhooks", roles.TO_ORGANIZE, "notify events secret endpoint"),
    Screen("Archive", "archives:archive", roles.TO_ORGANIZE, "backup whole collection"),
)
"""Screens of a collection that stand behind an entry, and that people look for by name."""
OF_STAFF = ("imports:new-collection", "archives:restore")
"""Routes of the site that only those open who may create collections."""


def screens_for(role: Role) -> tuple[tuple[Tab, tuple[Screen, ...]], ...]:
    """Return the tabs of a member with the screens that the role opens; tabs without any are left out.

    Participants have their own, and no other: all other pages answer them as outsiders.
    """
    offered = TABS[-1:] if role is Role.PARTICIPANT else TABS[:-1]
    return tuple((tab, entries) for tab in offered if (entries := tab.visible_to(role)))


def screen_at(route: str) -> Screen | None:
    """Return the screen of a route such as `editor:topic`, or the one that the route is reached from.

    >>> screen_at("editor:topic").name, screen_at("core:patterns")
    ('Topics', None)
    """
    return _BY_ROUTE.get(route) or _BY_ROUTE.get(route.partition(":")[0] + ":")


_BY_ROUTE = {page: screen for tab in TABS for screen in tab.entries for page in (*screen.pages, screen.route)}
