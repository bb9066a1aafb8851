"""Have a model draft questions or nuggets for each topic without items, as one job."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from grading.errors import UnknownGrader
from grading.generation.models import drafting_backend, drafting_backends
from grading.types import ItemKind
from rubricweb.banks import actions, draft_jobs
from rubricweb.banks.access import named_bank
from rubricweb.banks.changes import CannotDraft
from rubricweb.banks.draft_models import KINDS
from rubricweb.banks.drafting import DraftOptions
from rubricweb.core.formatting import counted
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import writer_of
from rubricweb.jobs.limits import MORE_THAN_EXPECTED, Limits


class Command(OperatorCommand):
    help = "Have a model draft for each topic or subtopic without items. Drafts wait for a person's decision."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("--bank", default="", metavar="NAME", help="the rubric; default: the first one")
        parser.add_argument("--kind", default="question", choices=[kind for kind, _ in KINDS])
        parser.add_argument(
            "--topic", action="append", default=[], metavar="QUERY_ID", help="only this one; may be repeated"
        )
        parser.add_argument(
            "--backend", default="", choices=[backend.name for backend in drafting_backends()],
            help="default: that of the collection's grader",
        )  # fmt: skip
        parser.add_argument("--llm", default="", help="the model; default: the grader's, or the back-end's")
        parser.add_argument("--most-calls", type=int, help="of the model; default: twice what is expected")
        parser.add_argument("--most-dollars", type=float, help="where the model has a price")
        parser.add_argument("--price-only", action="store_true", help="only say what it would take")

    def handle(self, **options: object) -> None:
        collection = collection_named(str(options["slug"]))
        named = str(options["bank"])
        bank = named_bank(collection.slug, named) if named else collection.banks.first()
        drafting = _options(collection, options)
        among = _topics(collection, options["topic"])  # type: ignore[arg-type]
        rest = draft_jobs.lacking(collection, bank, among=among)
        price = draft_jobs.price(drafting, rest.places)
        money = "price unknown" if price.dollars is None else price.dollars_words
        self.stdout.write(
            f"{drafting.llm}: {counted(len(rest.places), rest.noun)} without {drafting.kind}s, "
            f"a call each, about {price.tokens:,} tokens, {money}"
        )
        if options["price_only"]:
            return
        if price.dollars is None and not options["most_calls"]:
            raise CommandError("the price of this model is not known: say --most-calls")
        most_calls = int(str(options["most_calls"] or MORE_THAN_EXPECTED * price.cells))
        limits = Limits(most_calls, options["most_dollars"])  # type: ignore[arg-type]
        try:
            job = draft_jobs.start(
                bank or actions.begin_bank(collection, by=None), drafting, limits=limits, by=None, among=among
            )
        except CannotDraft as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"started: {job} for rubric {job.bank.name}, at most {limits.text}")


def _options(collection: Collection, options: dict[str, object]) -> DraftOptions:
    """Return the kind of items and the model. Raises CommandError where no model that writes is named."""
    own = writer_of(collection)
    named, llm = str(options["backend"]), str(options["llm"])
    if not named and own is None:
        raise CommandError("the collection's grader cannot write drafts: say --backend")
    try:
        backend = drafting_backend(named or (own.backend if own else ""))
    except UnknownGrader as error:
        raise CommandError(str(error)) from error
    default = own.llm if own and own.backend == backend.name else backend.default_llm
    return DraftOptions(ItemKind(str(options["kind"])), backend.name, llm or default)


def _topics(collection: Collection, named: list[str]) -> set[int] | None:
    if not named:
        return None
    topics = dict(collection.topics.filter(query_id__in=named).values_list("query_id", "pk"))
    if missing := [query_id for query_id in named if query_id not in topics]:
        raise CommandError(f"{collection.slug} has no topic {', '.join(missing)}")
    return set(topics.values())
