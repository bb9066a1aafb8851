"""A panel is a grader: its grades are made of its members' by an ordinary job, missing and never wrong."""

from __future__ import annotations

import itertools

import pytest

from grading.graders import MEMBERS
from grading.statistics.panel import FOLDS, PanelRule, fold_of, panel_rating
from grading.types import Purpose
from rubricweb.archives.layout import write_archive
from rubricweb.archives.removal import delete_collection
from rubricweb.archives.restoring import Terms, restore_archive
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for, default_min_grade, imported_config, require_genuine, scale_of
from rubricweb.grades.engine import chunks, kind
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.monitor import workers
from rubricweb.grades.engine.price import dollars_of, price
from rubricweb.grades.engine.stages import can_ask, stages
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.panels import CannotForm, PanelChoice, panel_config
from rubricweb.grades.raters import raters
from rubricweb.grades.store import GradeRow, remove_between, remove_grades, replace_failed, save_grades
from rubricweb.jobs import worker_state
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted

RATINGS = itertools.cycle((5, 0, 4, 3, 5, 1, 2))


@pytest.fixture
def bank(collection, settings, redis_server):
    settings.CHUNK_CELLS = 4
    return gradable(collection, topics=2, passages=3, items=2)


@pytest.fixture
def members(db, script, bank) -> list[GraderConfig]:
    return [config_for("scripted", name, "LexicalBaseline") for name in "abc"]


@pytest.fixture
def panel(members) -> GraderConfig:
    return panel_config(members, PanelChoice(PanelRule.MEDIAN))


def cells(collection):
    """Every pair of a wording and a passage in the pool, with its topic."""
    for topic in collection.topics.order_by("pk"):
        for item in topic.items.order_by("pk"):
            for pooled in topic.pool.order_by("pk"):
                yield topic.pk, item.revision_id, pooled.passage_id


def vote(config, cell, rating):
    outcome = "failed" if rating is None else "numeric"
    save_grades(config, [GradeRow(*cell, rating, outcome)])


def ratings(config):
    rows = Grade.objects.by(config).values_list("topic_id", "revision_id", "passage_id", "rating")
    return {(topic, revision, passage): rating for topic, revision, passage, rating in rows}


def missing(collection, config):
    (lacking,) = missing_cells(collection, [config])
    return lacking.cells, lacking.unextracted


def combined(collection, config, run):
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    return run(job)


def test_three_graders_and_their_panel_by_real_jobs(collection, members, panel, script, run):
    def rated(number, pair):
        yield scripted.rated(pair, next(RATINGS))

    script(rated)
    for graded, member in enumerate(members):
        assert missing(collection, panel)[0] == (12 if graded == 2 else 0)  # two of three are a quorum
        combined(collection, member, run)
    assert missing(collection, panel) == (12, 0)
    plan = stages(collection, [panel])
    cost = price(collection, plan.all, workers().beats)
    assert (dollars_of(collection, plan.all), cost.tokens, cost.dollars) == (0, None, None)
    job = combined(collection, panel, run)
    assert (job.state, job.total) == ("done", 12)
    votes = [ratings(member) for member in members]
    made = ratings(panel)
    assert made == {cell: sorted(each[cell] for each in votes)[1] for cell in votes[0]}
    assert missing(collection, panel) == (0, 0)
    grade = Grade.objects.by(panel).first()
    cell = (grade.topic_id, grade.revision_id, grade.passage_id)
    assert grade.reply == " ".join(str(each[cell]) for each in votes)
    assert grade.confidence == round([each[cell] for each in votes].count(grade.rating) / 3, 6)
    by_topic = matrices(panel, collection_pool(collection))
    assert sum(int((each.matrix.ratings >= 0).sum()) for each in by_topic.values()) == 12


def test_a_failed_member_is_no_vote_and_too_few_votes_are_no_grade(collection, members, panel, run):
    first, second, *_ = cells(collection)
    for member, rating in zip(members, (5, 1, None), strict=True):
        vote(member, first, rating)
    vote(members[0], second, 5)
    assert missing(collection, panel) == (1, 11)
    combined(collection, panel, run)
    assert ratings(panel) == {first: 1}  # of two the lower
    assert not actions.start_grading(collection, by=None, configs=[panel])


def test_whatever_changes_a_vote_takes_the_panels_grade_away(collection, members, panel, run):
    first, second, *_ = cells(collection)
    for cell in (first, second):
        for member, rating in zip(members, (5, 5, None), strict=True):
            vote(member, cell, rating)
    combined(collection, panel, run)
    assert ratings(panel) == {first: 5, second: 5}
    late = config_for("scripted", "late", "LexicalBaseline")
    vote(late, first, 0)  # of no member
    assert ratings(panel) == {first: 5, second: 5}
    replace_failed(members[2], [GradeRow(*first, 0, "numeric")])
    assert ratings(panel) == {second: 5}
    remove_grades(members[0], second[0], Grade.objects.by(members[0]).filter(passage=second[2]))
    assert ratings(panel) == {}
    combined(collection, panel, run)
    assert ratings(panel) == {first: 5}
    keys = Grade.objects.by(members[1]).values_list("pk", flat=True)
    remove_between(min(keys), max(keys), topics=[first[0]])
    assert ratings(panel) == {}


def test_a_stopped_and_a_killed_worker_lose_nothing_and_write_nothing_twice(
    collection, members, panel, monkeypatch, run
):
    for cell, member in itertools.product(cells(collection), members):
        vote(member, cell, next(RATINGS))
    (job,) = actions.start_grading(collection, by=None, configs=[panel])
    first, saved = job.chunks.first(), chunks.save

    def stopped(*args):
        saved(*args)
        worker_state.now.is_stopping = True

    def killed(*args):
        saved(*args)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(worker_state.now, "is_stopping", False)  # as it is again afterwards
        patched.setattr(kind.chunks, "save", stopped)
        work_on("chunk", first.pk)
    assert Grade.objects.by(panel).count() == 1  # the batch that it was at
    with monkeypatch.context() as patched:
        patched.setattr(kind.chunks, "save", killed)
        with pytest.raises(SystemExit):
            work_on("chunk", first.pk)
    assert Grade.objects.by(panel).count() == 2
    first.refresh_from_db()
    job.chunks.filter(pk=first.pk).update(lease_until=None, state="queued")  # as the reaper does
    job = run(job)
    votes = [ratings(member) for member in members]
    assert ratings(panel) == {cell: sorted(each[cell] for each in votes)[1] for cell in votes[0]}
    assert (job.state, sum(chunk.done for chunk in job.chunks.all())) == ("done", 12)


def test_a_vote_that_changes_while_the_job_runs_leaves_the_pair_missing(
    collection, members, panel, monkeypatch, run
):
    first = next(iter(cells(collection)))
    for member in members[:2]:
        vote(member, first, 5)
    saved = chunks.save

    def late(lease, work, *rest):
        vote(members[2], first, 0)
        saved(lease, work, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(kind.chunks, "save", late)
        job = combined(collection, panel, run)
    assert (job.state, ratings(panel)) == ("done", {})
    combined(collection, panel, run)
    assert Grade.objects.by(panel).get().reply == "5 5 0"


def test_weights_are_those_of_the_topics_fold(collection, members, run):
    weights = [[1.0, 0.0, 0.0]] * FOLDS
    topics = list(collection.topics.order_by("pk"))
    weights[fold_of(topics[0].query_id)] = [0.0, 0.0, 1.0]
    panel = panel_config(members, PanelChoice(PanelRule.WEIGHTS, weights=weights))
    every = {cell[0]: cell for cell in cells(collection)}
    for cell, (number, member) in itertools.product(every.values(), enumerate(members)):
        vote(member, cell, number)
    combined(collection, panel, run)
    expected = {
        every[topic.pk]: panel_rating(PanelRule.WEIGHTS, [0, 1, 2], weights[fold_of(topic.query_id)]).rating
        for topic in topics
    }
    assert ratings(panel) == expected
    assert expected[every[topics[0].pk]] == 2


def test_the_first_decides_where_it_has_graded(collection, members, run):
    panel = panel_config(members, PanelChoice(PanelRule.FIRST))
    first, second, third, *_ = cells(collection)
    for cell in (first, second):
        for member in members[1:]:
            vote(member, cell, 5)
    vote(members[0], first, 2)
    vote(members[0], third, 3)
    combined(collection, panel, run)
    assert ratings(panel) == {first: 2, second: 5, third: 3}


def test_judges_from_files_without_texts_form_a_panel(collection, bank, run):
    judges = [imported_config(name, "UmbrelaStyle", Purpose.DIRECT) for name in ("x", "y", "z")]
    topic = collection.topics.first()
    direct = topic.revisions.create(uid="direct", text="")
    passage = topic.pool.first().passage
    passage.text = ""
    passage.save()
    for judge, rating in zip(judges, (3, 2, 3), strict=True):
        vote(judge, (topic.pk, direct.pk, passage.pk), rating)
    panel = panel_config(judges, PanelChoice(PanelRule.MAJORITY, name=" The  judges "))
    assert (panel.llm, panel.purpose) == ("The judges", Purpose.DIRECT)
    assert (scale_of(panel), default_min_grade(panel)) == (scale_of(judges[0]), default_min_grade(judges[0]))
    combined(collection, panel, run)
    assert list(ratings(panel).values()) == [3]


def test_a_panel_is_an_ordinary_frozen_grader(collection, bank, members, panel, run):
    assert panel_config(members, PanelChoice(PanelRule.MEDIAN)) == panel
    assert panel_config(members, PanelChoice(PanelRule.MAJORITY)) != panel
    assert panel_config(members[:2], PanelChoice(PanelRule.MEDIAN)) != panel
    assert can_ask(panel)
    require_genuine(panel)
    panel.options[MEMBERS] = members[0].fingerprint
    with pytest.raises(ValueError, match="fingerprint"):
        require_genuine(panel)
    panel.refresh_from_db()
    first = next(iter(cells(collection)))
    for member in members:
        vote(member, first, 4)
    combined(collection, panel, run)
    names = [rater.name for rater in raters(bank)]
    assert "Panel of a, b and c, rule median" in names


def test_graders_that_do_not_mean_the_same_form_no_panel(members, panel):
    def refuses(some, match):
        with pytest.raises(CannotForm, match=match):
            panel_config(some, PanelChoice(PanelRule.MEDIAN))

    refuses(members[:1], "2 to 20 different graders")
    refuses([*members, panel], "cannot be a member")
    direct = config_for("openai_compatible", "gpt", "UmbrelaStyle")
    refuses([*members, direct], "all rate items, or all label passages")
    refuses([*members, config_for("openai_compatible", "gpt", "NuggetAssignment")], "share a scale")
    with pytest.raises(CannotForm, match="4 votes are more"):
        panel_config(members, PanelChoice(PanelRule.MEDIAN, quorum=4))
    with pytest.raises(CannotForm, match="5 lists of 3 numbers"):
        panel_config(members, PanelChoice(PanelRule.WEIGHTS, weights=[[1.0, 0.0]]))


def test_an_archive_has_the_panel_and_its_members(collection, members, panel, run, tmp_path):
    first = next(iter(cells(collection)))
    for member, rating in zip(members, (5, 1, None), strict=True):
        vote(member, first, rating)
    combined(collection, panel, run)
    path, again = tmp_path / "one.zip", tmp_path / "two.zip"
    write_archive(collection, path)
    slug = collection.slug
    delete_collection(collection, by=None)
    GraderConfig.objects.all().delete()
    restore_archive(path, Terms(joins=True))
    restored = Collection.objects.get(slug=slug)
    write_archive(restored, again)
    assert again.read_bytes() == path.read_bytes()
    back = GraderConfig.objects.get(fingerprint=panel.fingerprint)
    assert list(ratings(back).values()) == [1]
    third = GraderConfig.objects.get(fingerprint=members[2].fingerprint)
    replace_failed(third, [GradeRow(*next(iter(cells(restored))), 5, "numeric")])
    assert missing(restored, back) == (1, 11)
