"""Which page of the help explains which screen."""

from __future__ import annotations

from rubricweb.help.contents import INDEX
from rubricweb.help.markdown import address_of

PAGES = {
    "accounts": "people#your-account",
    "api": "programs#the-api",
    "arena": "work#vote",
    "arena:board": "results#votes",
    "archives": "server#archive-and-restore-a-collection",
    "campaigns": "work#rate",
    "campaigns:campaign-new": "work#open-a-campaign",
    "campaigns:campaigns": "work#open-a-campaign",
    "campaigns:decide": "work#decide",
    "core": INDEX,
    "corpus": "people#settings-of-a-collection",
    "corpus:people": "people#invite-people",
    "corpus:runs": "runs",
    "corpus:run-edit": "runs",
    "editor": "topics",
    "editor:drafts": "topics#draft-with-a-model",
    "editor:history": "topics#history",
    "editor:trial": "topics#retire-weigh-try",
    "exports": "files#take-files-out",
    "grades": "graders#grade",
    "grades:pool": "runs#the-pool",
    "help": INDEX,
    "home": INDEX,
    "home:results": "results",
    "home:work": "work",
    "imports": "files#bring-files-in",
    "leaderboards": "results#read-the-board",
    "leaderboards:compare": "results#compare-two-runs",
    "leaderboards:sure": "results#how-sure-are-we",
    "leaderboards:public": "results#publish-a-board",
    "graders": "graders#choose-a-grader",
    "graders:write": "graders#prompts-of-your-own",
    "releases": "files#take-files-out",
    "review": "topics#read-the-grid",
    "review:flags": "work#flags",
    "review:problems": "topics#problems",
    "review:verify": "work#verify",
    "submissions": "runs#take-submissions",
    "submissions:submission": "runs#submit-a-run",
    "submissions:submit": "runs#submit-a-run",
    "support": "results#support",
    "support:label": "work#label-citations",
    "systems": "runs#make-a-run",
    "webhooks": "programs#webhooks",
}
"""Page and anchor by the name of a route, or of its namespace for all others in it."""


def help_for(route: str) -> str:
    """The address of the page for a route such as `editor:topic`; of the help's first page for none."""
    page = PAGES.get(route) or PAGES.get(route.partition(":")[0], INDEX)
    name, _, anchor = page.partition("#")
    return address_of(name) + (f"#{anchor}" if anchor else "")
