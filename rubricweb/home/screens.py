"""The screens and actions that the search offers, with the role that each needs."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role


@dataclass(frozen=True, slots=True)
class Screen:
    name: str
    route: str
    needed: Role = roles.TO_VIEW
    keywords: str = ""
    """Words by which people look for it besides its name."""
    takes_slug: bool = False
    """Of a bank: the address names the collection too."""


SITE = (
    Screen("Home", "home:home", keywords="waiting tasks collections"),
    Screen("Help", "help:index", keywords="documentation tutorials guide"),
    Screen("New collection", "imports:new-collection", keywords="create"),
    Screen("Restore a collection", "archives:restore", keywords="archive upload backup"),
    Screen("Your keys", "accounts:keys", keywords="keyboard shortcuts"),
    Screen("Your tokens", "api:tokens", keywords="API scripts"),
    Screen("Your account", "accounts:password", keywords="password density close"),
)
OF_STAFF = ("imports:new-collection", "archives:restore")
"""Routes of the site that only those open who may create collections."""
OF_TEAMS = (Screen("Your team's submissions", "submissions:team", roles.TO_SUBMIT, "runs upload submit"),)
OF_COLLECTIONS = (
    Screen("Topics", "home:collection", keywords="queries"),
    Screen("Leaderboard", "leaderboards:board", keywords="board ranks scores runs"),
    Screen("Two runs", "leaderboards:comparison", keywords="compare difference significant better"),
    Screen("Meta-evaluation", "leaderboards:meta", keywords="official correlation kendall tau judgments"),
    Screen("Agreement with judgments", "leaderboards:agreement", keywords="qrels kappa labels"),
    Screen("Influence", "leaderboards:influence", keywords="leave out item topic team"),
    Screen("By topic attribute", "leaderboards:by-attribute", keywords="slices topics"),
    Screen("What moved", "leaderboards:moved", keywords="versions compare"),
    Screen("Figures", "leaderboards:figures", keywords="plots charts"),
    Screen("Calibration", "calibration:cards", keywords="card grader agreement people bias kappa drift"),
    Screen("Support", "support:board", keywords="citations attribution sentences precision recall"),
    Screen("Label citations", "support:label", roles.TO_ASSESS, "support passages sentences"),
    Screen("Ask a model about support", "support:ask", roles.TO_ORGANIZE, "citations label"),
    Screen("Review", "review:overview", keywords="overview"),
    Screen("Queue", "campaigns:campaigns", keywords="campaigns rate cells"),
    Screen("New campaign", "campaigns:campaign-new", roles.TO_ORGANIZE, "rate cells assessors"),
    Screen("Flags", "review:flags", keywords="remarks comments"),
    Screen("Adjudication", "campaigns:adjudication", roles.TO_EDIT_BANK, "conflicts decide assessors"),
    Screen("Assessor agreement", "campaigns:agreement", roles.TO_EDIT_BANK, "krippendorff kappa"),
    Screen("Your overruled ratings", "campaigns:overruled", roles.TO_ASSESS, "decisions"),
    Screen("Arena", "arena:arena", keywords="vote battle answers compare side by side"),
    Screen("Answers by name", "arena:by-name", roles.TO_ASSESS, "arena compare two runs"),
    Screen("Ask", "arena:ask", roles.TO_ASSESS, "arena question fresh answers systems"),
    Screen("Vote board", "arena:board", roles.TO_SEE_RUNS, "arena bradley terry strength"),
    Screen("Rubric and votes", "arena:rubric", roles.TO_SEE_RUNS, "arena explain disagree preference"),
    Screen("Near-duplicates", "review:duplicates", keywords="passages copies"),
    Screen("Jobs", "grades:jobs", keywords="grading progress workers"),
    Screen("Prompts", "prompts:prompts", roles.TO_ORGANIZE, "write dry run"),
    Screen("Export", "exports:exports", keywords="download qrels files"),
    Screen("Releases", "releases:releases", roles.TO_ORGANIZE, "publish zip"),
    Screen("Runs", "corpus:runs", roles.TO_ORGANIZE, "accept withdraw"),
    Screen("Make a run", "systems:make", roles.TO_ORGANIZE, "baseline bm25 rerank ragnarok rifer generate"),
    Screen("Submissions", "submissions:desk", roles.TO_ORGANIZE, "calls teams deadline"),
    Screen("New call for submissions", "submissions:call-new", roles.TO_ORGANIZE, "deadline teams"),
    Screen("Import", "imports:imports", roles.TO_ORGANIZE, "upload topics passages runs grades"),
    Screen("Settings", "corpus:settings", roles.TO_ORGANIZE, "members grader invite"),
    Screen("Webhooks", "webhooks:webhooks", roles.TO_ORGANIZE, "notify events secret endpoint"),
    Screen("Audit trail", "corpus:audit", roles.TO_ORGANIZE, "who changed what log"),
    Screen("Pool", "grades:pool", roles.TO_ORGANIZE, "depth passages"),
    Screen("Archive", "archives:archive", roles.TO_ORGANIZE, "backup whole collection"),
)
OF_BANKS = (
    Screen("Verify grading", "review:verify", keywords="check right wrong", takes_slug=True),
    Screen("Spurious items", "review:spurious", keywords="too easy"),
    Screen("Uncovered passages", "review:uncovered", keywords="missing questions relevant"),
    Screen("Versions", "editor:versions", keywords="history restore diff"),
    Screen("Ledger", "editor:ledger", keywords="changes history"),
)
