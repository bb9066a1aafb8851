"""Direct grading from the settings to the qrels: one label a passage, without a bank."""

from dataclasses import replace

import pytest

from grading.formats.trec import qrels_lines
from grading.graders import registry
from grading.types import ItemKind
from rubricweb.exports.boards import qrels
from rubricweb.grades import actions
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.models import Grade, JobChunk
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.selectors import board
from tests.factories import PassageFactory, PooledFactory, RankingFactory, RunFactory, TopicFactory
from tests.rubricweb.grades import scripted
from tests.rubricweb.markup import markup

LABELS = {"d1": 1, "d2": 0, "d3": 1}


@pytest.fixture
def topic(collection, monkeypatch):
    target = f"{scripted.__name__}:ScriptedGrader"
    like = registry.BACKENDS["hf_seq2seq"]
    monkeypatch.setitem(registry.BACKENDS, "scripted", replace(like, name="scripted", target=target))
    monkeypatch.setattr(scripted, "SCRIPT", [])
    chunks.close_until(0)
    collection.grader_backend, collection.grader_llm = "scripted", "paper"
    collection.grader_prompts = ["FagB"]
    collection.save()
    topic = TopicFactory(collection=collection, query_id="t1", text="why do leaves turn red")
    TopicFactory(collection=collection, query_id="t2", text="")
    for position, doc_id in enumerate(LABELS):
        passage = PassageFactory(collection=collection, doc_id=doc_id)
        PooledFactory(topic=topic, passage=passage, position=position)
    for run_tag, doc_ids in {"best": ["d1", "d3", "d2"], "worst": ["d2", "d1", "d3"]}.items():
        RankingFactory(run=RunFactory(collection=collection, run_tag=run_tag), topic=topic, doc_ids=doc_ids)
    return topic


def test_from_the_job_to_the_board_and_the_qrels(topic, collection, redis_server):
    """nDCG@10 of d2 d1 d3: (1/log2 3 + 1/log2 4) / (1 + 1/log2 3) = 1.1309 / 1.6309 = 0.6934."""
    (config,) = active_configs(collection)
    assert config.purpose == "direct"
    assert missing_cells(collection, [config])[0].cells == 3
    graded = []

    def labelled(number, pair):
        graded.append((pair.item.kind, pair.item.text))
        yield scripted.rated(pair, LABELS[pair.passage.passage_id])

    scripted.SCRIPT.append(labelled)
    (job,) = actions.start_grading(collection, by=None)
    work_on("chunk", JobChunk.objects.get().pk)

    job.refresh_from_db()
    assert (job.state, job.total) == ("done", 3)
    assert graded == [(ItemKind.DIRECT, "why do leaves turn red")] * 3
    assert set(Grade.objects.values_list("revision__uid", flat=True)) == {"direct"}
    assert missing_cells(collection, [config])[0].cells == 0
    assert actions.start_grading(collection, by=None) == []

    spec = BoardSpec(
        collection, config, None, frozenset({ItemKind.DIRECT}), MeasureSpec("ndcg_cut_10", min_grade=1)
    )
    assert [(row.run_tag, round(row.score, 4)) for row in board(spec).rows] == [
        ("best", 1),
        ("worst", 0.6934),
    ]
    assert list(qrels_lines(qrels(spec))) == ["t1 0 d1 1", "t1 0 d2 0", "t1 0 d3 1"]


def test_the_pages_show_what_a_direct_grader_made(topic, collection, redis_server, viewer, client_of):
    scripted.SCRIPT.append(lambda number, pair: iter([scripted.rated(pair, LABELS[pair.passage.passage_id])]))
    actions.start_grading(collection, by=None)
    work_on("chunk", JobChunk.objects.get().pk)
    (config,) = active_configs(collection)
    client = client_of(viewer)
    page = markup(client.get(f"/collections/autumn/leaderboards/?grader={config.pk}&measure=ndcg_cut_10"))
    assert "0.693" in page
    assert client.get("/collections/autumn/").status_code == 200
    assert client.get("/").status_code == 200
    assert client.get("/collections/autumn/grades/jobs/").status_code == 200
    assert client.get(f"/collections/autumn/releases/?grader={config.pk}").status_code == 200
