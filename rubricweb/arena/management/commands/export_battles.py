"""Write the votes of a collection as battles, as other arenas publish them."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.formats.battles import csv_lines, write_csv, write_json
from rubricweb.arena.answers import CountedVerdict
from rubricweb.arena.battle_files import arena_battles
from rubricweb.arena.judges import JudgeVotes, judge_names, votes_of
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import naming

PEOPLE = "people"


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the votes of the collection SLUG that count as battles (model_a, model_b, winner, question_id "
        "and more), a line a vote, sides as shown. Votes on answers and on evidence are a file each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        text = "whose votes: on answers (%(default)s) or on evidence"
        parser.add_argument(
            "--on",
            type=CountedVerdict,
            choices=list(CountedVerdict),
            default=CountedVerdict.ANSWER,
            help=text,
        )
        parser.add_argument("--named", action="store_true", help="with votes of people who knew the names")
        text = "the votes of this model instead of people's (default: %(default)s)"
        parser.add_argument("--voters", default=PEOPLE, metavar="NAME", help=text)
        text = "call people by their user names (default: pseudonyms)"
        parser.add_argument("--names", action="store_true", help=text)
        text = "CSV, or JSON lines for a name in .jsonl; default: standard output"
        parser.add_argument("--out", type=Path, metavar="FILE", help=text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection, out = collection_named(slug), options["out"]
        name = naming(collection, with_names=options["names"])
        judge = _judge(collection, options["voters"], options["on"])
        battles = list(
            arena_battles(collection, options["on"], name, with_named=options["named"], judge=judge)
        )
        if out is None:
            self.stdout.write("\n".join(csv_lines(battles)))
        else:
            write = write_json if ".jsonl" in out.suffixes else write_csv
            with writing(out):
                write(out, battles)
        self.stderr.write(f"{len(battles):,} votes on {options['on']}")


def _judge(collection: Collection, name: str, verdict: CountedVerdict) -> JudgeVotes | None:
    """Return the votes of the model of that name; None for people. Raises CommandError for another name."""
    if name == PEOPLE:
        return None
    names = judge_names(collection)
    if name not in names:
        raise CommandError(f"--voters {name}: expected {', '.join([PEOPLE, *names])}")
    return votes_of(collection, name, verdict)
