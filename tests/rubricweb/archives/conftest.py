"""A collection with a row of every table that archives have."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from rubricweb.accounts.models import User
from rubricweb.archives.layout import signature
from rubricweb.arena.models import Reason, Vote
from rubricweb.banks.models import AnswerKey, Bank, BankTopic, ItemRevision, ItemSource
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, OfficialScore, Response, Subtopic
from rubricweb.grades.engine.gaps import TopicGap
from rubricweb.grades.engine.parts import store_parts
from rubricweb.grades.human_models import AnswerVerdict, Draw
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.imports import staging
from rubricweb.imports.models import Import
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.releases.models import Release
from rubricweb.support.models import LabelledAnswer, SupportChunk, SupportEvent, SupportLabel, SupportSettings
from tests.factories import lexical_config, responded
from tests.rubricweb import worlds


def signed(content: bytes, key: str = "") -> bytes:
    """The archive with another signature: of this server, or by a key."""
    with ZipFile(BytesIO(content)) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    entries["signature.txt"] = signature(entries["manifest.json"], key).encode()
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as other:
        for name, data in entries.items():
            other.writestr(name, data)
    return target.getvalue()


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return settings.DATA_DIR


@pytest.fixture
def bank(collection: Collection, owner: User, assessor: User, viewer: User) -> Bank:
    """The bank of the collection "autumn"."""
    bank = worlds.world(collection, owner, assessor)
    campaign = worlds.blind_campaign(bank, by=owner, assignees=[viewer])
    worlds.parameters(bank, viewer, campaign)
    staging.stage_text(Import.objects.get(), "t1\twhy do leaves turn red")
    search = collection.duplicate_searches.create(passages=6, groups=1, state="done")
    search.members.create(passage=collection.passages.last(), group=1)
    item, topic = bank.items.first(), collection.topics.first()
    responded(topic, "generated", "Leaves turn red.", "Frost dulls them.")
    Subtopic.objects.create(topic=topic, facet_id="colour", position=0)
    OfficialScore.objects.create(collection=collection, run_tag="alpha", value=1e20, is_rank=False)
    AnswerKey.objects.create(revision=item.revision, text="anthocyanin", by=owner)
    BankTopic.objects.create(bank=bank, topic=topic, foreign={"v3": [{"b": -0.0, "a": 1e30}]})
    passage = collection.passages.first()
    ItemSource.objects.create(change=_change(item, owner), passage=passage, spans=[[0, 3]])
    drawn = Draw.objects.create(collection=collection, design="cells", revisions=[item.revision_id])
    drawn.configs.add(lexical_config())
    JobChunk.objects.update(cells=[[item.revision_id, passage.pk]])
    gap = TopicGap(topic.pk, (item.revision_id,), (passage.pk,), np.ones((1, 1), dtype=np.bool_))
    store_parts(GradingJob.objects.get(), [gap])
    _said_by(owner, collection, item.revision)
    Release.objects.get().boards.add(PublicBoard.objects.get())
    Collection.objects.update(stamp=new_stamp())  # as imports do, so that nothing stale is shown
    PublicBoard.objects.update(query=f"grader={lexical_config().pk}&bank={bank.pk}&topic=7")
    return bank


def _said_by(person: User, collection: Collection, revision: ItemRevision) -> None:
    """Have the person say what people say of answers, votes and cited sentences, and a model label one."""
    cell = {"topic": revision.topic, "revision": revision, "passage": collection.passages.first()}
    of_grader = {"config": lexical_config(), "seen_rating": 0}
    AnswerVerdict.objects.create(
        **cell, **of_grader, by=person, number=1, is_right=True, answer="anthocyanin"
    )
    Reason.objects.create(vote=Vote.objects.first(), tags=["complete"], text="It names them.", uid=uuid4())
    sentence = {"topic": revision.topic, "sentence_md5": "5e" * 16, "doc_id": "d1"}
    judge = collection.support_judges.get()
    SupportLabel.objects.create(**sentence, judge=judge, job=judge.jobs.get(), label=2)
    response = Response.objects.filter(run__collection=collection).first()
    foreign = {"run_id": "r", "sentences": [{"text": "So.", "citations": []}]}
    LabelledAnswer.objects.create(response=response, judge=judge, labels=[[2, -5], []], foreign=foreign)
    SupportEvent.objects.create(**sentence, by=person, label=-5, seen_label=2, seen_judge=judge)
    SupportChunk.objects.create(
        job=judge.jobs.get(), topic=revision.topic, number=1, size=1, done=1, state="done"
    )
    SupportSettings.objects.create(collection=collection, shown_judge=judge, contradicts=True)


def _change(item, by):
    return item.changes.create(number=1, verb="added", revision=item.revision, by=by)
