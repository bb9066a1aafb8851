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
    "campaigns:decide": "supervise-the-grader#adjudicate",
    "campaigns:campaign-new": "supervise-the-grader#open-a-campaign",
    "campaigns:campaigns": "supervise-the-grader#open-a-campaign",
    "core": INDEX,
    "corpus": "people-and-settings",
    "corpus:audit": "people-and-settings#audit-trail",
    "corpus:people": "people-and-settings#roles",
    "corpus:runs": "import-files#runs-and-the-pool",
    "corpus:run-edit": "import-files#runs-and-the-pool",
    "editor": "edit-a-bank",
    "editor:drafts": "edit-a-bank#drafts",
    "editor:item-answer-key": "edit-a-bank#answer-keys",
    "editor:topic": "read-the-grid",
    "editor:trial": "edit-a-bank#try-it-first",
    "editor:history": "edit-a-bank#history",
    "exports": "export-and-release",
    "grades": "grade",
    "grades:jobs": "grade#jobs",
    "grades:missing": "grade#start-grading",
    "grades:pool": "import-files#runs-and-the-pool",
    "help": INDEX,
    "home": "find-your-way",
    "imports": "import-files",
    "leaderboards": "read-a-leaderboard",
    "calibration": "read-a-leaderboard#calibration",
    "leaderboards:compare": "read-a-leaderboard#two-runs",
    "leaderboards:sure": "read-a-leaderboard#how-sure-are-we",
    "leaderboards:public": "read-a-leaderboard#publish-a-board",
    "prompts": "grade#your-own-prompts",
    "prompts:graders": "grade#choose-a-grader",
    "releases": "export-and-release#release",
    "review": "supervise-the-grader",
    "review:cell": "read-the-grid#one-cell",
    "review:flags": "supervise-the-grader#flags",
    "review:problems": "supervise-the-grader#problems",
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
