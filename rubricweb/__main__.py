"""The command line: `rubricweb VERB`. In a checkout, `manage.py` is `rubricweb manage`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rubricweb import __version__

PROGRAM = "rubricweb"
VERBS: dict[str, dict[str, str]] = {
    "Run a server": {
        "demo": "start everything with the demo collection",
        "migrate": "bring the database up to this version",
        "doctor": "say what is missing or wrong on this machine",
        "worker": "do queued work until stopped",
        "archive": "write a whole collection as one file",
        "restore": "make the collection of an archive again",
        "cool": "move a collection's grades to Parquet files; its boards stay",
        "thaw": "bring the grades of a collection back from cold storage",
        "drop_replies": "drop replies of models that are past their time",
        "pack_replies": "compress long replies of earlier versions",
        "remove_refused_files": "delete refused submissions after their time",
    },
    "Let people in": {
        "set_role": "make an account a member, or change its role",
        "invite": "print a link with which people join",
        "make_token": "make a token for a script",
    },
    "Import": {
        "import_collection": "topics, passages, rubrics, runs, judgments",
        "index_corpus": "index a corpus that runs may search",
        "make_run": "make a run: search, rerank, answer",
        "whole_answers": "add a run of the whole answers of another",
        "pool": "pool judged passages and first ranks",
        "topic_attributes": "have a model score what the topics are like",
        "sample_topics": "draw topics that differ most",
        "find_near_duplicates": "mark passages that are nearly the same",
    },
    "Call for runs": {
        "open_call": "ask teams for runs, by the rules of a track",
        "check_submission": "say what a track would refuse",
        "submit": "send in a run for a team",
    },
    "Grade": {
        "grade": "grade what is missing with one grader",
        "graders": "list who graded, with which prompt, how much",
        "check_rationales": "say how often graders make up reasons",
        "open_campaign": "hand out pairs to people to rate",
        "draft_rubric": "have a model draft for all topics without items",
        "secret_items": "list or change the secret items of a rubric",
    },
    "Board": {
        "leaderboard": "print a board and what it stands on",
        "compare_runs": "say how two runs differ, and how surely",
        "compare_context": "say how runs score in context of their answers",
        "publish_board": "print a link with which anybody reads a board",
        "judge_battles": "ask a language model for votes on pairs of answers",
        "meta_evaluate": "correlate boards with official leaderboards",
        "agreement": "print tables of agreement with kappa",
    },
    "Gate": {
        "gate": "exit 0, 1 or 2: is a run not worse, worse, or can nobody tell",
    },
    "Export": {
        "export_qrels": "relevance labels made of grades",
        "export_graded": "passages with judgments and grades",
        "export_bank": "a rubric in any dialect",
        "export_run": "a run's answers or its ranking",
        "export_topics": "the topics in any format",
        "export_passages": "the passages, or one of each group of near-duplicates",
        "export_support": "labels of support, scores, ranks, agreement",
        "export_assessments": "assessments of reports, as DRAGUN has them",
        "export_battles": "votes as battles of an arena",
        "export_listing": "what a review screen shows",
        "release": "all that a track publishes, as one zip",
    },
}
"""What each verb does, under what people do. A test holds that every command of ours has its line."""
USAGE = f"""\
usage: {PROGRAM} VERB ...

  {PROGRAM} VERB --help            what a verb takes
  {PROGRAM} manage COMMAND ...     a command of Django: createsuperuser, collectstatic
  {PROGRAM} completion SHELL       a script with which bash, zsh, fish or tcsh completes them
  {PROGRAM} --version              the version"""


def overview() -> str:
    """Return what `rubricweb --help` prints: every verb, by what people do."""
    width = max(len(verb) for verbs in VERBS.values() for verb in verbs)
    parts = [USAGE]
    for heading, verbs in VERBS.items():
        lines = (f"  {verb:<{width}}  {text}" for verb, text in verbs.items())
        parts.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join(parts)


def completion(shell: str) -> str:
    """Return the script with which `shell` completes verbs and options.

    Raises SystemExit for a shell that has none.
    """
    import django
    import shtab
    from django.core.management import get_commands, load_command_class
    from django.core.management.base import CommandParser

    from rubricweb.client import gate

    if shell not in shtab.SUPPORTED_SHELLS:
        raise SystemExit(
            f"{PROGRAM}: completion is for {', '.join(shtab.SUPPORTED_SHELLS)}, not for {shell!r}"
        )
    django.setup()
    parser = CommandParser(prog=PROGRAM)
    subparsers = parser.add_subparsers()
    rooms = get_commands()
    for verbs in VERBS.values():
        for verb, text in verbs.items():
            subparser = subparsers.add_parser(verb, help=text)
            if verb == "gate":
                gate.add_arguments(subparser)
            else:
                load_command_class(rooms[verb], verb).add_arguments(subparser)
    subparsers.add_parser("manage", help="a command of Django")
    return str(shtab.complete(parser, shell))


def run(arguments: Sequence[str]) -> None:
    """Run `rubricweb ARGUMENTS`. Raises SystemExit where they name no verb."""
    from django.core.management import execute_from_command_line

    match arguments:
        case [] | ["-h" | "--help" | "help"]:
            print(overview())  # noqa: T201
        case ["--version" | "version"]:
            print(__version__)  # noqa: T201
        case ["completion", shell]:
            print(completion(shell))  # noqa: T201
        case ["gate", *others]:
            from rubricweb.client import gate

            raise SystemExit(gate.main(others))
        case ["help", verb]:
            run([verb, "--help"])
        case ["manage", *others]:
            is_checkout = Path(sys.argv[0]).name == "manage.py"
            execute_from_command_line(["manage.py" if is_checkout else f"{PROGRAM} manage", *others])
        case [verb, *_] if any(verb in verbs for verbs in VERBS.values()):
            execute_from_command_line([PROGRAM, *arguments])
        case _:
            raise SystemExit(
                f"{PROGRAM}: {arguments[0]!r} is no verb; `{PROGRAM} --help` lists them, "
                f"and `{PROGRAM} manage {arguments[0]}` runs a command of Django"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    try:
        run(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:  # `rubricweb export_qrels ... | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
