"""What a board says of itself: on the page, in the comment lines of its files and in the command's JSON."""

from __future__ import annotations

from datetime import UTC, datetime

from grading.graders import registry as backends
from grading.measures import ItemMeasure, Threshold, registry
from grading.statistics.max_t import ALPHA, MIN_TOPICS, PairedTest
from grading.statistics.mean_intervals import LEVEL
from grading.types import Purpose
from rubricweb import __version__
from rubricweb.core.formatting import counted
from rubricweb.graders.rated_cells import maps_in_words
from rubricweb.grades.configs import threshold_note
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.leaderboards.board import Board, BoardSpec, MeanBasis, MeasureColumn, sentences
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.lookup import distinct_labels
from rubricweb.leaderboards.board.scores import items_stamp, n_hidden, n_secret

Json = dict[str, object]

LEFT_OUT = "left out"
JUDGED_ONLY = "; passages without a label are taken out first"
NO_TOPICS = "topics cannot be resampled for this measure"
TESTS = {PairedTest.SIGN_FLIPS: "max-T test by sign flips", PairedTest.STUDENTISED: "studentised max-T test"}
DEFINITIONS = {
    Definition.PAPERS: "as in the papers",
    Definition.WORKBENCH: "the published Workbench's",
    Definition.WORKBENCH_0: "the published Workbench's, for ranks from 0",
}
SOURCES = {
    RatingSource.GRADER: "the grader",
    RatingSource.CORRECTED: "the grader, corrected by people",
    RatingSource.HUMANS: "people only",
}


def measure_name(spec: BoardSpec) -> str:
    """Return the label of the ranking measure, with its threshold if a further column has the same label."""
    own = [(column.token, column.measure) for column in spec.columns if column.is_own]
    return distinct_labels([("", spec.measure), *own])[0]


def threshold(spec: BoardSpec) -> str:
    return f">= {spec.measure.min_grade}"


def denominator(board: Board) -> str:
    """Return, in words, what the mean that ranks the runs goes over."""
    return _denominator(board, board.spec.measure, board.counted)


def column_denominator(board: Board, place: int) -> str:
    """Return the denominator of a further column."""
    column, basis = board.spec.columns[place], board.columns[place]
    if column.support:
        is_left_out = board.spec.skips_missing or column.support.less_is_better
        lacking = "is left out of its mean" if is_left_out else "counts 0"
        over = f"mean over the {counted(basis.n_topics, 'topic')} with labels"
        return f"{column.support.denominator}; {over}; a topic that a run lacks {lacking}"
    return _denominator(board, column.measure, basis, of="judgments" if column.is_judgments else "grades")


def _denominator(board: Board, measure: MeasureSpec, counted: MeanBasis, of: str = "grades") -> str:
    spec, n = board.spec, counted.n_topics
    lacking = "is left out of its mean" if spec.skips_missing else "counts 0"
    over = "subtopics" if spec.by_subtopic and spec.topic else "topics"
    macro = "; a topic is the mean over its subtopics" if spec.by_subtopic and not spec.topic else ""
    if measure.uses_labels:
        strict = "" if spec.skips_missing else " (trec_eval -c)"
        left_out = f"; {counted.n_left_out} without are left out" if counted.n_left_out else ""
        mean = f"mean over all {n} {over} with {of}{left_out}{macro if of == 'grades' else ''}"
        return f"{mean}; a topic that a run lacks {lacking}{strict}"
    without = counted.n_left_out - counted.n_undefined
    left_out = f"; {without} without are left out" if without else ""
    undefined = f"; {counted.n_undefined} where it is 0 / 0 are left out" if counted.n_undefined else ""
    mean = f"mean over all {n} {over} with items{left_out}{undefined}{macro}"
    return f"{measure.denominator}; {mean}; a topic that a run lacks {lacking}"


def importance(board: Board) -> str:
    """Return a warning on scores of vital nuggets where importance tells no items apart; else nothing."""
    measures = [board.spec.measure, *(column.measure for column in board.spec.columns)]
    registered = [measure.registered for measure in measures]
    is_of_vital = any(isinstance(each, ItemMeasure) and each.is_of_vital for each in registered)
    if not is_of_vital or not board.n_items:
        return ""
    if board.n_vital == board.n_items:
        return (
            "no item is marked okay or to avoid: all count as vital, and vital scores are those of all items"
        )
    return "" if board.n_vital else "no item is vital, so that scores of vital items are 0 for every run"


def circularity(board: Board) -> str:
    """Return what the model that grades also wrote, since it may prefer its own words; empty if nothing."""
    runs, n_items = [row.run_tag for row in board.rows if row.is_by_grader], board.n_items_by_grader
    parts = []
    if runs:
        parts.append(f"{len(runs)} of the {counted(len(board.rows), 'run')} ({', '.join(runs)})")
    if n_items:
        parts.append(f"{n_items} of the {board.n_items} items")
    if not parts:
        return ""
    return (
        f"{board.spec.config.llm} grades this board and also wrote {' and '.join(parts)}: "
        "graders may prefer their own model's words"
    )


def closed_book(board: Board) -> str:
    """Return which runs answer without retrieval; empty if none."""
    runs = [row.run_tag for row in board.rows if row.is_closed_book]
    if not runs:
        return ""
    return f"{', '.join(runs)}: no submission but a baseline that retrieves nothing and cites nothing"


def labels(spec: BoardSpec) -> str:
    """Return how the ratings of a passage become its label, in words."""
    return _labels(spec.config, spec.measure)


def _labels(config: GraderConfig, measure: MeasureSpec) -> str:
    reached = f">= {measure.min_grade}"
    if config.purpose == Purpose.DIRECT and measure.mode == "max":
        return "the grader's label"
    if measure.mode == "count":
        return f"number of items rated {reached}"
    best = (
        "highest rating"
        if measure.min_answers == 1
        else f"best rating reached by {measure.min_answers} items"
    )
    if measure.label_maps:
        return f"{best}, calibrated by people: {maps_in_words(measure.label_maps)}"
    return best if measure.mode == "max" else f"1 if the {best} is {reached}, else 0"


def label_basis(spec: BoardSpec) -> str:
    """Return `labels`, and each choice that is not the default: whose ratings, of which items."""
    parts = [labels(spec)]
    if spec.source is not RatingSource.GRADER:
        parts.append(f"ratings by {SOURCES[spec.source]}")
    if spec.version:
        parts.append(f"items of version {spec.version.number}")
    if spec.by_subtopic:
        parts.append("by subtopic")
    if spec.measure.is_workbench:
        parts.append(f"definition: {DEFINITIONS[spec.measure.definition]}")
    return ", ".join(parts)


def statements(board: Board) -> list[tuple[str, str]]:
    """Return pairs of name and value: everything that a reader needs to make this board again."""
    spec = board.spec
    stated = _made_of(spec, bank(board), board.order)
    stated += [("denominator", denominator(board)), ("topics", str(board.n_topics))]
    stated += [(column.label, column_stated(board, place)) for place, column in enumerate(spec.columns)]
    notes = ("importance", importance), ("circularity", circularity), ("closed book", closed_book)
    stated += [(name, text) for name, note in notes if (text := note(board))]
    if board.calibration and (board.calibration.card or board.calibration_lacks):
        stated.append(("calibration", board.calibration.text))
    if hidden := n_hidden(spec):
        cells = "1 pair that is" if hidden == 1 else f"{hidden:,} pairs that are"
        stated.append((LEFT_OUT, f"{cells} still to be rated blind"))
    if board.verified[0]:
        stated.append(
            ("verified", f"{board.verified[0]} of {counted(board.verified[1], 'pair')} checked by people")
        )
    stated += estimate_stated(board)
    return [*stated, ("uncertainty", uncertainty(board)), *when()]


def scored_statements(scored: ScoredBoard) -> list[tuple[str, str]]:
    """Return what the scores of a board stand on, for the pages that analyse them."""
    base, lacking = scored.base, "is left out of its mean" if scored.spec.skips_missing else "counts 0"
    n_items, stamp = sum(len(uids) for uids in base.items.values()), items_stamp(base.pool, base.items)
    stated = _made_of(scored.spec, _bank(scored.spec, n_items, stamp), scored.spec.measure.order)
    return [*stated, ("a topic that a run lacks", lacking), ("possible ranks", _possible(scored)), *when()]


def _possible(scored: ScoredBoard) -> str:
    """Return how the ranks that the topics leave open were computed."""
    ranks = scored.ranks
    if not scored.spec.measure.bootstraps_by_topic:
        return f"none: {NO_TOPICS}"
    if ranks is None:
        return "none: fewer than two topics or two runs"
    return f"those that a {_tested(ranks.test, ranks.topics, len(scored.run_tags))}"


def _tested(test: PairedTest, topics: int, runs: int) -> str:
    """Return the test of a board in words, after "a"."""
    powerless = f"; it takes {MIN_TOPICS} topics" if topics < MIN_TOPICS else ""
    pairs = runs * (runs - 1) // 2
    together = "for the one pair" if pairs == 1 else f"for all {pairs} pairs together"
    return (
        f"{TESTS[test]} over {counted(topics, 'topic')} leaves open, {100 * ALPHA:g} % {together}{powerless}"
    )


def when() -> list[tuple[str, str]]:
    """Return which version of RubricWeb made the file, and when."""
    return [("RubricWeb", __version__), ("made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")]


def _made_of(spec: BoardSpec, bank: str, order: str) -> list[tuple[str, str]]:
    config = spec.config
    how = f"{config.prompt_class}, back-end {config.backend}, config {config.pk}"
    stated = [
        ("collection", spec.collection.slug),
        ("measure", measure_name(spec)),
        *([("measure, in other spelling", other)] if (other := spec.measure.other_name) else []),
        *([("measure by", plugin)] if (plugin := spec.measure.registered.plugin) else []),
        ("definition", DEFINITIONS[spec.measure.definition]),
        ("grader", f"{config.llm}, {how}{config.settings_words}"),
        ("ratings", SOURCES[spec.source]),
        ("bank", bank),
        ("threshold", ". ".join(filter(None, (f"grade {threshold(spec)}", threshold_note(config))))),
    ]
    if spec.topic_slice:
        stated.append(("slice", spec.topic_slice.stated))
    if spec.runs:
        stated.append(("runs", spec.runs.stated))
    if secret := n_secret(spec):
        stated.append(("secret items", f"{secret}, which only topic developers and organizers may read"))
    if spec.topic:
        stated.append(("only", f"topic {spec.topic}" + (f", subtopic {spec.facet}" if spec.facet else "")))
    if spec.uses_labels:
        stated.append(("order of a run", order))
    if spec.measure.uses_labels:
        only = [("passages", "those with a label only")] if spec.measure.is_judged_only else []
        return [*stated, ("labels", labels(spec)), relevant(spec.measure), *only]
    return [*stated, ("cutoff", f"first {spec.measure.cutoff} passages by rank")]


def estimand(spec: BoardSpec) -> str:
    """Return what the estimates beside the scores are of, in words."""
    measure, name = spec.measure, f"{measure_name(spec)} by people"
    if measure.uses_labels:
        return f"{name}: the score that the run would have, had they rated every item on its first passages"
    if measure.name != registry.DEFAULT:
        return f"{name}: the score that the run would have, had they rated every pair"
    return (
        f"{name}: the share of items that people would rate {threshold(spec)} on at least one of the run's "
        f"first {measure.cutoff} passages, had they rated every pair"
    )


def estimate_stated(board: Board) -> list[tuple[str, str]]:
    """Return what the estimates are of, by which method and from which sample; or why there are none."""
    sample = board.sample
    if sample is None or not (board.verified[0] or sample.size.cells):
        return []
    if sample.reason:
        return [("estimate", f"none of {estimand(board.spec)}. {sentences.lacks(sample)}")]
    method, basis = sentences.method(sample), sentences.basis(sample)
    return [("estimate", f"{estimand(board.spec)}; {method}. {basis}")]


def bank(board: Board) -> str:
    """Return the bank with its version, or as of now, and the stamp of its items."""
    return _bank(board.spec, board.n_items, board.items_stamp)


def _bank(spec: BoardSpec, n_items: int, stamp: str) -> str:
    if spec.bank is None:
        return "none: labels"
    when = f"version {spec.version.number}: {spec.version.name}" if spec.version else "as of now"
    return f"{spec.bank.name} ({kinds(spec)}s, {n_items} items, {stamp}), {when}"


def uncertainty(board: Board) -> str:
    """Return how ranks and intervals were computed, at what level, and their Monte-Carlo errors."""
    if not board.spec.measure.bootstraps_by_topic:
        return f"none: {NO_TOPICS}"
    if board.top is None:
        return "undefined with fewer than two topics or two runs"
    of_p, of_ends = board.monte_carlo or (0.0, 0.0)
    return (
        f"{100 * LEVEL:g} % bootstrap-t intervals of scores over topics; ranks that a "
        f"{_tested(board.test, board.n_topics, len(board.rows))} (Monte-Carlo standard errors: of an end at "
        f"most {of_ends:.2g}, of a p-value {of_p:.2g})"
    )


def relevant(measure: MeasureSpec) -> tuple[str, str]:
    """Return what labels are to a measure of trec_eval: gains, or relevant from one on."""
    if measure.registered.threshold is Threshold.ANY:
        return ("counted", "any label")
    return ("gains", "the labels") if measure.takes_gains else ("relevant", f"label >= {measure.level}")


def column_stated(board: Board, place: int) -> str:
    """Return, in words, everything that a further column depends on, and its name in the other spelling."""
    column = board.spec.columns[place]
    other = "" if column.support else column.measure.other_name
    named = f"; in other spelling {other}" if other else ""
    return f"{_column_basis(board.spec, column)}; {column_denominator(board, place)}{named}"


def _column_basis(spec: BoardSpec, column: MeasureColumn) -> str:
    measure = column.measure
    if column.support:
        return column.support.stated
    if column.is_judgments:
        name, value = relevant(measure)
        use = f"{name}: {value}" if name != "gains" else "which are the gains"
        use = f"relevant from {measure.level}" if name == "relevant" else use
        return f"human judgments, {use}{JUDGED_ONLY if measure.is_judged_only else ''}"
    config, items = column.config, column.items_of_bank
    whose = f"by {config} (config {config.pk}), over {items}, " if config else ""
    if not measure.uses_labels:
        return f"{whose}grade >= {measure.min_grade}, first {measure.cutoff} passages"
    name, value = relevant(measure)
    only = JUDGED_ONLY if measure.is_judged_only else ""
    return f"{whose}labels: {_labels(column.config or spec.config, measure)}; {name}: {value}{only}"


def graded_by(spec: BoardSpec) -> str:
    """Return, in the words of a sentence, who graded the passages: "graded by the language model X"."""
    if spec.source is RatingSource.HUMANS:
        return "rated by people"
    backend = backends.BACKENDS.get(spec.config.backend)
    model = "the language model " if backend and backend.needs_model else ""
    corrected = ", corrected by people" if spec.source is RatingSource.CORRECTED else ""
    return f"graded by {model}{spec.config.llm}{corrected}"


def grader(spec: BoardSpec) -> Json:
    config = spec.config
    return {
        "id": config.pk,
        "llm": config.llm,
        "prompt_class": config.prompt_class,
        "backend": config.backend,
        "options": config.settings,
    }


def kinds(spec: BoardSpec) -> str:
    return "s and ".join(sorted(spec.kinds, reverse=True))
