"""A collection with a row of every kind, for tests that ask every route."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import uuid4

from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from grading.pairwise import PROMPT_ID
from grading.systems.pipeline import Answering, SystemSpec
from grading.types import MAX_RATING
from rubricweb.accounts.invitations import Joining, invite
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.api.tokens import make_token
from rubricweb.archives.models import Archive, Deletion, Restoration
from rubricweb.arena.actions import Ballot, choose_battle, vote
from rubricweb.arena.models import Battle, FreshAnswer, JudgedPair, JudgeJob, Question, Vote
from rubricweb.banks.draft_models import Draft, DraftChunk, DraftJob, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.versions import name_version
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.adjudication import CellKey, decide
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.corpus.models import Collection, Passage, Response
from rubricweb.corpus.prompts import save_prompt
from rubricweb.graders.calibration_cards import make_card
from rubricweb.graders.models import DryRun
from rubricweb.grades.configs import config_for
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.human_ratings import Cell
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk, MatrixStamp
from rubricweb.grades.raters import KINDS, raters
from rubricweb.grades.replies import pack_some
from rubricweb.grades.store import save_grades
from rubricweb.grades.verification import judge_answer
from rubricweb.imports.models import Import, ImportFile
from rubricweb.leaderboards.actions import publish_board
from rubricweb.releases.models import Release
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Kind, SavedView, Subject
from rubricweb.support.models import SupportJudge
from rubricweb.systems import models
from rubricweb.systems.models import SystemChunk, SystemJob
from rubricweb.webhooks.actions import WebhookFields, add_webhook, send_test
from rubricweb.webhooks.models import EventType
from tests.factories import (
    STRICT,
    CallFactory,
    JudgmentFactory,
    gradable,
    grades,
    lexical_config,
    ranked,
    rate,
    take,
)

HIDDEN = 8
JUDGED = {"verdicts": ["left", "left"], "problem": "", "at": "2026-11-27T12:00:00+00:00"}
MADE = {
    "doc_ids": ["d1"],
    "scores": [1.0],
    "sentences": [["Leaves.", [0]]],
    "sources": ["d1"],
    "steps": [],
}
"""What a system made of a topic."""
RAW_REPLY = "the raw reply, which is long enough to lie in a block beside its grade"
Place = tuple[int, int]
"""(revision, passage), by primary keys."""
Rated = Callable[[Place, int], int]
"""What a rating of a cell is in a world where some are others."""


def as_it_is(place: Place, rating: int) -> int:
    return rating


def world(collection: Collection, owner: User, second: User, rated: Rated = as_it_is) -> Bank:
    """12 cells that two graders and `second` rated, judged passages, three runs, and a job of the grades."""
    bank = gradable(collection, topics=2, passages=3, items=2)
    other = config_for("openai_compatible", "a-model", "QuestionSelfRatedUnanswerablePromptWithChoices")
    cells = cells_of(bank)

    def as_rated(*ratings: int) -> list[tuple[Item, Passage, int]]:
        return [
            (item, pooled.passage, rated((item.revision_id, pooled.passage_id), ratings[n % len(ratings)]))
            for n, (item, pooled) in enumerate(cells)
        ]

    grades(lexical_config(), as_rated(0, 5, 3, 4, 1, 2))
    grades(other, as_rated(5, 4, 1, 0, 3, 2))
    rate(as_rated(2, 0, 5, 1, 4, 3), by=second)
    rate(as_rated(5, 1, 5, 0, 4, 0), by=owner)
    for topic in collection.topics.all():
        doc_ids = [pooled.passage.doc_id for pooled in topic.pool.all()]
        for relevance, doc_id in enumerate(doc_ids, 1):
            JudgmentFactory(topic=topic, doc_id=doc_id, relevance=relevance)
    tops = {"alpha": doc_ids, "beta": doc_ids[::-1], "gamma": doc_ids[1:2]}
    ranked(topic, tops)
    words = Concat(Value(f"{RAW_REPLY}: "), Cast("rating", CharField()))
    confidence = 0.4 + F("rating") / 100.0
    Grade.objects.update(confidence=confidence, answer=Concat(Value("an answer: "), words), reply=words)
    pack_some(collection, before=timezone.now())
    return bank


def verify_answers(bank: Bank, people: Iterable[User], rated: Rated = as_it_is) -> GraderConfig:
    """A third grader, which verifies an answer of each cell, as each of these people does."""
    config = config_for("openai_compatible", "a-model", "QuestionCompleteConcisePromptWithAnswerKey2")
    for n, (item, pooled) in enumerate(cells_of(bank)):
        is_right = rated((item.revision_id, pooled.passage_id), n % 2 * MAX_RATING) > 0
        row = Grade(config=config, topic=item.topic, revision=item.revision, passage=pooled.passage)
        row.rating, row.outcome, row.answer = int(is_right), "extracted", f"Pigments, {is_right}"
        save_grades(config, [row])
        for person in people:
            judge_answer(Cell.of(item, pooled.passage), row, is_right=not is_right, by=person, seen=0)
    return config


def cells_of(bank: Bank):
    items = bank.items.order_by("pk").select_related("topic", "revision")
    return [(item, pooled) for item in items for pooled in item.topic.pool.select_related("passage")]


def blind_campaign(bank: Bank, *, by: User, assignees=()) -> Campaign:
    rater = next(rater for rater in raters(bank) if not rater.verifies)
    choice = CellChoice(
        bank, tuple(bank.collection.topics.all()), frozenset(KINDS), rater, size=HIDDEN, order="random"
    )
    return open_campaign(
        choice, CampaignPlan("Blind", Campaign.Mode.BLIND, 2, tuple(assignees)), by=by, seed=3
    )


def parameters(bank: Bank, viewer: User, campaign: Campaign, rated: Rated = as_it_is) -> dict[str, object]:
    """A value for every parameter of every route, of a cell that is hidden from `viewer`."""
    collection, turn = bank.collection, take(campaign, viewer)[0]
    cell, config = turn.cell, lexical_config()
    topic, item = cell.topic, cell.item
    job = GradingJob.objects.create(
        collection=collection, config=config, scope="all", state="done", total=12, by=viewer
    )
    JobChunk.objects.create(job=job, number=1, topic=topic, cells=[], size=6, done=6, state="done")
    Grade.objects.filter(config=config).update(job=job)
    place = CellKey(topic.pk, cell.revision_id, cell.passage_id)
    organizer = collection.memberships.get(role="organizer").user
    _made_here(collection, topic)
    request = DraftRequest.objects.create(
        bank=bank, topic=topic, kind="nugget", backend="lexical", llm="x", prompt_id="P@1", state="done"
    )
    draft = Draft.objects.create(request=request, text="Leaves turn red")
    drafting = _drafting(bank, topic)
    return (
        {
            "slug": collection.slug,
            "user_id": viewer.pk,
            "page": "method",
            "form": "tsv",
            "steer": "pause",
            "token_id": make_token(viewer, name="nightly", scopes=["read"], days=1)[0].pk,
            "listing": "grid",
            "uidb64": "MQ",
            "bank_id": bank.pk,
            "panel_id": config.pk,
            "topic_id": topic.pk,
            "item_id": item.pk,
            "passage_id": cell.passage_id,
            "revision_id": cell.revision_id,
            "campaign_id": campaign.pk,
            "cell_id": cell.pk,
            "job_id": job.pk,
            "grade_id": Grade.objects.get(
                config=config, revision=cell.revision_id, passage=cell.passage_id
            ).pk,
            "run_id": collection.runs.first().pk,
            "number": name_version(bank, name="First", by=viewer).number,
            "draft_id": draft.pk,
            "request_id": request.pk,
            "draft_job_id": drafting.pk,
            "suggestion_id": ImportanceSuggestion.objects.create(
                request=request, item=item, text="x", importance="vital"
            ).pk,
            "prompt_id": save_prompt(collection, STRICT, by=viewer)[0].pk,
            "dry_run_id": _dry_run(collection, cell, rated(place[1:], 4)).pk,
            "view_id": SavedView.objects.create(user=viewer, collection=collection, name="Mine").pk,
            "flag_id": open_flag(
                Subject(bank, topic, item, cell.passage), kind=Kind.COMMENT, text="Hm.", by=viewer
            ).pk,
            "decision_id": decide(
                place, rating=rated(place[1:], 3), by=organizer, seen=0, reason="Read again.", uid=uuid4()
            ).pk,
        }
        | _published(collection, viewer)
        | _told(collection)
        | _imported(collection, viewer)
        | _submitted(collection, viewer)
        | _released(collection, viewer)
        | _kept(collection, viewer)
        | _voted(collection, viewer)
        | _asked(collection, viewer)
        | _supported(collection)
        | {"card_id": make_card(bank, config, by=organizer).pk}
    )


def _drafting(bank, topic) -> DraftJob:
    """A job that drafted for one topic."""
    job = DraftJob.objects.create(
        bank=bank, kind="nugget", backend="hf_seq2seq", llm="x", most_calls=2, calls=1, total=1, state="done"
    )
    DraftChunk.objects.create(job=job, topic=topic, number=0, size=1, done=1, state="done")
    return job


def _made_here(collection: Collection, topic) -> None:
    """Its first run, as if it had been made here."""
    spec = models.spec_as_json(SystemSpec(Answering.SENTENCES))
    run = collection.runs.first()
    job = SystemJob.objects.create(
        collection=collection, run=run, spec=spec, most_calls=1, total=1, state="done"
    )
    SystemChunk.objects.create(job=job, topic=topic, number=0, size=1, state="done", result=MADE)


def _dry_run(collection: Collection, cell, rating: int) -> DryRun:
    from grading.prompts import as_options

    reply = {"doc_id": cell.passage.doc_id, "prompt": "", "reply": str(rating), "outcome": "numeric"}
    reply["rating"] = rating
    reply |= {"answer": "", "reason": "", "context_chars": None, "confidence": None}
    return DryRun.objects.create(
        collection=collection,
        prompt_class=STRICT.prompt_class,
        definition=as_options(STRICT),
        backend="lexical",
        llm="lexical",
        topic=cell.topic,
        revision=cell.revision,
        doc_ids=[cell.passage.doc_id],
        state="done",
        results=[reply],
    )


def _imported(collection: Collection, viewer: User) -> dict[str, object]:
    batch = Import.objects.create(collection=collection, by=viewer, state="done", options={})
    file = ImportFile.objects.create(batch=batch, name="queries.tsv", size=5, digest="0" * 64)
    return {"import_id": batch.pk, "file_id": file.pk}


def _submitted(collection: Collection, viewer: User) -> dict[str, object]:
    call = CallFactory(collection=collection)
    sent = call.submissions.create(
        team="oak", by=viewer, name="oak.run", received_at=call.opens_at, state="done"
    )
    return {"call_id": call.pk, "submission_id": sent.pk}


def _released(collection: Collection, viewer: User) -> dict[str, object]:
    return {"release_id": Release.objects.create(collection=collection, by=viewer, state="done").pk}


def _voted(collection: Collection, viewer: User) -> dict[str, object]:
    """A battle whose names are shown, since it was voted on."""
    topic, (left, right) = collection.topics.first(), collection.runs.order_by("pk")[:2]
    for run in (left, right):
        told = [{"text": f"What {run.pk} says.", "citations": [["d1", None]]}]
        Response.objects.create(run=run, topic=topic, sentences=told, passages_of="sentence")
    collection.stamp += 1
    collection.save(update_fields=["stamp"])
    battle = choose_battle(topic, left, right, by=viewer)
    vote(battle, Ballot(Vote.Verdict.LEFT, Vote.Verdict.TIE, uuid4()), by=viewer, seen=0)
    return {"battle_id": battle.pk, "arena:board-file form": "json", "arena:votes-file form": "csv"}


def _asked(collection: Collection, viewer: User) -> dict[str, object]:
    """A question with two answers, of which the names are shown."""
    question = Question.objects.create(
        collection=collection, text="Why red?", is_drawn=True, most_calls=1, total=2, state="done"
    )
    for number in (0, 1):
        FreshAnswer.objects.create(
            job=question, number=number, size=1, state="done", system="sentences",
            spec=models.spec_as_json(SystemSpec(Answering.SENTENCES)), result=MADE,
        )  # fmt: skip
    battle = Battle.objects.create(
        collection=collection, person=viewer, number=99, question=question, drawn="asked",
        left_digest="1", right_digest="2", names_shown_at=timezone.now(),
    )  # fmt: skip
    judged = JudgeJob.objects.create(
        collection=collection, backend="hf_causal", llm="m", prompt_id=PROMPT_ID, pairs="all",
        longest_reply=9, most_calls=1, total=1, state="done",
    )  # fmt: skip
    left, right = collection.runs.order_by("pk")[:2]
    JudgedPair.objects.create(
        job=judged, number=0, size=1, state="done", topic=collection.topics.first(), left=left, right=right,
        left_digest="1", right_digest="2", replies={"0": ["[[A]]"]}, result=JUDGED,
    )  # fmt: skip
    routes = ("pending", "cancel", "go-on")
    battles = {f"arena:{name} battle_id": battle.pk for name in routes}
    step = Question.objects.create(
        collection=collection, text="Why red?", is_drawn=False, most_calls=1, total=1, state="done"
    )
    FreshAnswer.objects.create(
        job=step, number=0, size=1, state="done", result=MADE, request={"qid": "7"},
        spec=models.spec_as_json(SystemSpec(Answering.SENTENCES)),
    )  # fmt: skip
    known = {"question_id": question.pk, "step_id": step.pk, "judge_job_id": judged.pk}
    return known | battles


def _kept(collection: Collection, viewer: User) -> dict[str, object]:
    archive = Archive.objects.create(collection=collection, slug=collection.slug, by=viewer, state="done")
    invitation, path = invite(collection, Joining(Role.VIEWER, "", 1, 1), by=None)
    token = path.rstrip("/").rpartition("/")[2]
    named = {"collection_key": collection.pk, "slug": collection.slug, "name": collection.name}
    deletion = Deletion.objects.create(by=viewer, state="failed", error="Work is under way.", **named)
    links = {"invitation_id": invitation.pk, "accounts:join token": token}
    restoration = Restoration.objects.create(
        by=viewer, file_name="autumn.zip", state="failed", error="Damaged."
    )
    kept = {"archive_id": archive.pk, "deletion_id": deletion.pk, "restoration_id": restoration.pk}
    return links | kept


def _supported(collection: Collection) -> dict[str, object]:
    judge = SupportJudge.objects.create(collection=collection, backend="lexical", llm="x", prompt_id="P@1")
    job = judge.jobs.create(citations="all", state="done", total=1, most_calls=1)
    scoring = {"backend": "openai_compatible", "llm": "x", "prompt_id": "P@1", "state": "done", "total": 1}
    scored = collection.attribute_jobs.create(**scoring, most_calls=1)
    topic = collection.topics.first()
    scored.chunks.create(topic=topic, number=0, size=1, state="done", replies={"0": ["{}"]})
    steered = {"grades:steer act": "pause", "support:retry job_id": job.pk}
    for name in ("limits", "steer"):
        steered |= {f"grades:{name} kind": "support", f"grades:{name} job_id": job.pk}
    return {**steered, "exports:support file": "jsonl"}


def _told(collection: Collection) -> dict[str, object]:
    endpoint = add_webhook(
        collection, WebhookFields("https://hooks.example.org/", [EventType.JOB_ENDED]), by=None
    )
    send_test(endpoint, by=None)
    return {"webhook_id": endpoint.pk, "delivery_id": endpoint.deliveries.get().pk, "act": "test"}


def _published(collection: Collection, viewer: User) -> dict[str, object]:
    board = publish_board(collection, title="Board", query="", is_anonymous=False, by=viewer)
    return {"board_id": board.pk, "token": board.token}


def rate_otherwise(campaign: Campaign) -> None:
    """Every cell of the campaign has other ratings by graders and people, in all that is stored of it."""
    for cell in campaign.cells.all():
        place = {"revision": cell.revision_id, "passage": cell.passage_id}
        for row in Grade.objects.filter(**place):
            row.rating, row.confidence = 5 - row.rating, 0.9
            row.reply, row.answer = f"{row.reply} otherwise", f"{row.answer} otherwise"
            row.save()
        HumanGrade.objects.filter(**place).update(rating=5 - F("rating"))
    for trial in DryRun.objects.all():
        trial.results = [reply | {"rating": 5 - reply["rating"], "reply": "other"} for reply in trial.results]
        trial.save()
    MatrixStamp.objects.update(number=F("number") + 1)
    HumanStamp.objects.update(number=F("number") + 1)
