"""What a system reads: a corpus on disk, the collection's passages by BM25, or the rankings of its runs."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from django.conf import settings

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry, candidates_of, counting_unread, read_passages, segmented
from grading.near_duplicates import find_near_duplicates, representative
from grading.systems import Source, retrieval
from grading.systems.pipeline import SystemSpec
from grading.systems.retrieval import Corpus, PassageIndex, indexed, reciprocal_rank_fusion
from grading.types import Ranking, Topic as Query, text_md5
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.kinds import CannotRun

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

_open_corpora: dict[str, tuple[int, Corpus]] = {}
"""Name -> the open corpus, and when its index was written."""

Json = dict[str, Any]


class BadName(ValueError):
    """The text says what a name may have."""


def corpus_names() -> list[str]:
    """Return the names of the corpora on this machine."""
    folder = _root()
    folders = (path.parent.name for path in folder.glob("*/index.json"))
    return sorted(name for name in folders if NAME.fullmatch(name))


def open_corpus(name: str) -> Corpus:
    """Return the corpus, reopened when it was built anew. Raises CannotRun without it."""
    folder = corpus_folder(name)
    try:
        built = (folder / "index.json").stat().st_mtime_ns
        opened = _open_corpora.get(name)
        if opened is None or opened[0] != built:
            _open_corpora[name] = opened = built, Corpus.open(folder)
    except (OSError, BadFormat) as error:
        there = ", ".join(corpus_names()) or "none"
        raise CannotRun(
            f"This machine has no corpus {name} (it has: {there}). Build it by index_corpus."
        ) from error
    return opened[1]


def index_corpus(
    name: str, files: Iterable[Path], *, is_segmenting: bool = False, is_deduplicating: bool = False
) -> tuple[int, list[str]]:
    """Build the corpus of these files, or bring it up to date.

    MS MARCO V2.1 was made by both options (Pradeep et al. 2024, section 4): of documents that are
    near-duplicates only the representative is kept, and each document is cut into windows of sentences, each
    a passage with its place. Return the number of passages, and a line for what is not in the corpus.
    Raises BadName, BadFormat with file and line, and ValueError without passages or with an id twice.
    """
    paths, folder = tuple(files), corpus_folder(name)
    unread: Counter[str] = Counter()

    def documents() -> Iterable[PassageEntry]:
        return (entry for path in paths for entry in read_passages(path))

    redundant = _redundant(documents()) if is_deduplicating else frozenset()

    def entries() -> Iterable[PassageEntry]:
        kept = (entry for entry in documents() if entry.doc_id not in redundant)
        counted = counting_unread(kept, unread)
        return segmented(counted) if is_segmenting else counted

    count = 0

    def write(made: Path) -> None:
        nonlocal count
        count = retrieval.build(made, entries, reused=folder)

    replace_folder(folder, write)
    lines = [f"left out: {len(redundant):,} near-duplicates of other documents"] if redundant else []
    return count, lines + ([f"fields that are not kept: {', '.join(sorted(unread))}"] if unread else [])


def _redundant(documents: Iterable[PassageEntry]) -> frozenset[str]:
    """Return the ids of documents that another one of their group represents."""
    groups = find_near_duplicates((document.doc_id, document.text) for document in documents)
    return frozenset(name for group in groups for name in group if name != representative(group))


def corpus_size(name: str) -> tuple[int, float]:
    """Return the number of passages and their mean length in characters; zeros without the corpus."""
    try:
        return retrieval.size(_root() / name)
    except BadFormat:
        return 0, 0.0


def corpus_folder(name: str) -> Path:
    """Return the folder of the corpus. Raises BadName."""
    if not NAME.fullmatch(name):
        raise BadName(f"{name!r} is no name of a corpus: letters, digits, dots, - and _, 80 at most")
    return _root() / name


def replace_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """Write a new folder and put it in the place of the old one, which others may still read."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        write(made)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    old = made.with_name(f"{made.name}-old")
    if folder.exists():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _root() -> Path:
    return Path(settings.DATA_DIR) / "corpora"


_opened: dict[int, tuple[int, PassageIndex]] = {}
"""Collection -> the open index, and the stamp for which it is up to date."""


def candidates(collection: Collection, spec: SystemSpec, query: Query, stored: Topic | None) -> Ranking:
    """Return the ranking that the system begins with; empty where no run has one for the `stored` topic.

    A query that is no topic of the collection has no runs.
    """
    if not spec.retrieves:
        return Ranking("", query.query_id, (), ())
    if spec.corpus:
        return open_corpus(spec.corpus).search(query, depth=spec.depth)
    if not spec.runs:
        return index_of(collection).search(query, depth=spec.depth)
    rows = stored.rankings.filter(run__run_tag__in=spec.runs).select_related("run", "topic") if stored else ()
    rankings = [convert.ranking(row) for row in rows]
    if not rankings:
        return Ranking("", query.query_id, (), ())
    if len(spec.runs) == 1:
        return rankings[0]
    return reciprocal_rank_fusion(rankings, depth=spec.depth)


def sources_of(collection: Collection, doc_ids: Sequence[str], corpus: str = "") -> list[Source]:
    """Return the passages in this order, of the collection or else of a corpus, where they have a text."""
    rows = collection.passages.filter(doc_id__in=doc_ids).values_list("doc_id", "text", "title")
    by_id = {doc_id: Source(doc_id, text, title) for doc_id, text, title in rows}
    if corpus:
        missing = [doc_id for doc_id in doc_ids if doc_id not in by_id]
        entries = open_corpus(corpus).passages(missing)
        by_id |= {entry.doc_id: Source(entry.doc_id, entry.text, entry.title) for entry in entries}
    return [by_id[doc_id] for doc_id in doc_ids if doc_id in by_id]


def entries_sent(candidates: Sequence[Json]) -> list[PassageEntry]:
    """Return candidates of a request, as Ragnarök writes them, in their order. Raises BadFormat."""
    return candidates_of({"query": {"qid": "query", "text": ""}, "candidates": candidates})


def sources_sent(candidates: Sequence[Json]) -> list[Source]:
    """Return them as what an answer may cite. Raises BadFormat."""
    return [Source(entry.doc_id, entry.text, entry.title) for entry in entries_sent(candidates)]


def unscored(query_id: str, sources: Sequence[Source]) -> Ranking:
    """Return the sources in their order as a ranking."""
    doc_ids = tuple(source.passage_id for source in sources)
    return Ranking("", query_id, doc_ids, (0.0,) * len(doc_ids))


def index_of(collection: Collection) -> PassageIndex:
    """Return the collection's index, brought up to date where an import has changed its passages."""
    stamp = Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    opened = _opened.get(collection.pk)
    if opened is None or opened[0] != stamp:
        folder = index_folder(collection.pk)
        try:
            stored = PassageIndex.open(folder)
        except BadFormat:
            stored = PassageIndex()
        before, entries = (
            len(stored.ids),
            partial(convert.passage_entries, collection.passages.order_by("pk")),
        )
        # Without the passages that systems generated, whose ids are the md5 of their texts.
        index = stored.updated(
            lambda: (indexed(entry) for entry in entries() if entry.doc_id != text_md5(entry.text))
        )
        if not index.ids:  # a corpus that names its own passages by their md5
            index = stored.updated(lambda: map(indexed, entries()))
        if index is not stored or len(index.ids) != before:
            replace_folder(folder, index.save)  # another worker may read the old one, or write the same
        _opened[collection.pk] = opened = stamp, index
    return opened[1]


def index_folder(collection_id: int) -> Path:
    return Path(settings.DATA_DIR) / "indexes" / str(collection_id)


def remove_index(collection_id: int) -> None:
    """Delete the collection's index; a worker that has it open can read on until it closes it."""
    shutil.rmtree(index_folder(collection_id), ignore_errors=True)
    _opened.pop(collection_id, None)
