"""Which page of the help explains which screen."""

from __future__ import annotations

from rubricweb.help.contents import INDEX
from rubricweb.help.markdown import address_of

PAGES = {
    "accounts": "people-and-settings#your-account",
    "accounts:keys": "find-your-way#keys",
    "api": "scripts",
    "arena": "compare-answers",
    "arena:ask": "compare-answers#ask-a-question-of-your-own",
    "arena:board": "compare-answers#the-vote-board",
    "arena:rubric": "compare-answers#the-rubric-beside-the-votes",
    "archives": "keeping#archive-and-restore-a-collection",
    "campaigns": "rate-passages",
    "campaigns:adjudication": "supervise-the-grader#adjudicate",
    "campaigns:agreement": "supervise-the-grader#assessor-agreement",
    "campaigns:campaign-new": "supervise-the-grader#open-a-campaign",
    "campaigns:campaigns": "supervise-the-grader#open-a-campaign",
    "campaigns:case": "supervise-the-grader#adjudicate",
    "core": INDEX,
    "corpus": "people-and-settings",
    "corpus:audit": "people-and-settings#audit-trail",
    "corpus:invitations": "people-and-settings#roles",
    "corpus:runs": "import-files#runs-and-the-pool",
    "corpus:run-edit": "import-files#runs-and-the-pool",
    "editor": "edit-a-bank",
    "editor:drafts": "edit-a-bank#drafts",
    "editor:duplicates": "edit-a-bank#duplicates",
    "editor:item-answer-key": "edit-a-bank#answer-keys",
    "editor:ledger": "edit-a-bank#versions-and-the-ledger",
    "editor:secret-items": "edit-a-bank#secret-items",
    "editor:trial": "edit-a-bank#try-it-first",
    "editor:version-diff": "edit-a-bank#versions-and-the-ledger",
    "editor:versions": "edit-a-bank#versions-and-the-ledger",
    "exports": "export-and-release",
    "grades": "grade",
    "grades:job": "grade#jobs",
    "grades:jobs": "grade#jobs",
    "grades:missing": "grade#start-grading",
    "grades:pool": "import-files#runs-and-the-pool",
    "grades:replies": "grade#replies",
    "help": INDEX,
    "home": "find-your-way",
    "imports": "import-files",
    "leaderboards": "read-a-leaderboard",
    "leaderboards:agreement": "read-a-leaderboard#behind-the-board",
    "leaderboards:influence": "read-a-leaderboard#behind-the-board",
    "calibration": "read-a-leaderboard#calibration",
    "leaderboards:comparison": "read-a-leaderboard#two-runs",
    "leaderboards:meta": "read-a-leaderboard#behind-the-board",
    "leaderboards:moved": "read-a-leaderboard#behind-the-board",
    "leaderboards:public": "read-a-leaderboard#publish-a-board",
    "leaderboards:publish": "read-a-leaderboard#publish-a-board",
    "prompts": "grade#your-own-prompts",
    "prompts:ask": "grade#choose-a-grader",
    "prompts:asked": "grade#choose-a-grader",
    "prompts:graders": "grade#choose-a-grader",
    "releases": "export-and-release#release",
    "review": "supervise-the-grader",
    "review:cell": "read-the-grid#one-cell",
    "review:duplicates": "supervise-the-grader#near-duplicates",
    "review:flags": "supervise-the-grader#flags",
    "review:spurious": "supervise-the-grader#spurious-items",
    "review:suspect": "supervise-the-grader#spurious-items",
    "review:uncovered": "supervise-the-grader#uncovered-passages",
    "review:uncovered-passage": "supervise-the-grader#uncovered-passages",
    "review:verify": "supervise-the-grader#verify",
    "submissions": "take-submissions",
    "systems": "make-runs",
    "submissions:submission": "tutorials/participant",
    "submissions:submit": "tutorials/participant",
    "submissions:team": "tutorials/participant",
    "support": "support",
    "support:label": "support#label-citations",
    "support:ask": "support#ask-a-model",
    "webhooks": "webhooks",
    "webhooks:delivery": "webhooks#when-it-fails",
}
"""Page and anchor by the name of a route, or of its namespace for all others in it."""


def help_for(route: str) -> str:
    """The address of the page for a route such as `editor:topic`; of the help's first page for none."""
    page = PAGES.get(route) or PAGES.get(route.partition(":")[0], INDEX)
    name, _, anchor = page.partition("#")
    return address_of(name) + (f"#{anchor}" if anchor else "")
