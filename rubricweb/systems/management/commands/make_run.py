"""Make a run of the workbench's own: retrieval, reranking, a generated answer."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from grading.systems import MAX_WORDS
from grading.systems.pipeline import MOST_PASSES, Answering, SystemSpec
from grading.systems.retrieval import DEPTH
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.jobs.limits import Limits, add_limit_arguments
from rubricweb.systems import actions


class Command(OperatorCommand):
    help = "Make a run: BM25 or the rankings of other runs, reranking, and a generated answer."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("run_tag", help="the name of the new run")
        parser.add_argument(
            "--answer", choices=[answering.value for answering in Answering], default=Answering.NONE
        )
        parser.add_argument("--from-run", action="append", default=[], metavar="RUN", help="instead of BM25")
        help_text = (
            "search this corpus on disk, which index_corpus made, instead of the collection's passages"
        )
        parser.add_argument("--corpus", default="", metavar="NAME", help=help_text)
        parser.add_argument("--depth", type=int, default=DEPTH, help="passages to retrieve")
        parser.add_argument("--passes", type=int, default=0, choices=range(MOST_PASSES + 1), help="reranking")
        parser.add_argument("--rating-prompt", default="", metavar="CLASS", help="rerank by its ratings")
        parser.add_argument("--sources", type=int, default=0, help="passages to answer from")
        parser.add_argument("--max-words", type=int, default=MAX_WORDS, help="of an answer")
        parser.add_argument("--backend", default="", help="such as openai_compatible")
        parser.add_argument("--llm", default="", help="the model")
        add_limit_arguments(parser)

    def handle(self, **options: object) -> None:
        collection = collection_named(str(options["slug"]))
        spec = _spec(options)
        topics = list(collection.topics.order_by("query_id"))
        expected = actions.price(collection, spec, len(topics))
        self.stdout.write(f"{spec.method}: {len(topics)} topics, {_in_words(expected)}")
        if options["price_only"]:
            return
        if expected.needs_limit_on_calls and not options["most_calls"]:
            raise CommandError(
                f"the price of this model is not known: say --most-calls, such as {2 * expected.calls}"
            )
        most_calls = options["most_calls"] or 2 * expected.calls
        try:
            job = actions.start(
                collection,
                spec,
                run_tag=str(options["run_tag"]),
                topics=topics,
                limits=Limits(int(str(most_calls)), options["most_dollars"]),  # type: ignore[arg-type]
                by=None,
            )
        except (actions.TagTaken, ValueError) as error:
            raise CommandError(str(error)) from error
        at_most = f", at most {job.most_calls:,} calls" if expected.calls else ""
        self.stdout.write(f"started: {job}{at_most}")


def _in_words(expected: actions.SystemPrice) -> str:
    if not expected.calls:
        return "no model is asked"
    money = "price unknown" if expected.price.dollars is None else expected.price.dollars_words
    return f"about {expected.calls:,} calls of the model, {expected.price.tokens:,} tokens, {money}"


def _spec(options: dict[str, object]) -> SystemSpec:
    try:
        return SystemSpec(
            answering=Answering(str(options["answer"])),
            runs=tuple(options["from_run"]),  # type: ignore[arg-type]
            corpus=str(options["corpus"]),
            depth=int(str(options["depth"])),
            rerank_passes=int(str(options["passes"])),
            rating_prompt=str(options["rating_prompt"]),
            sources=int(str(options["sources"])),
            max_words=int(str(options["max_words"])),
            backend=str(options["backend"]),
            llm=str(options["llm"]),
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
