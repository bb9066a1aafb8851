"""The impact preview: what saving the text would cost and change. It writes nothing."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from rubricweb.banks import access
from rubricweb.banks.models import Bank
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.corpus.models import Topic
from rubricweb.editor import impact as impacts
from rubricweb.editor.forms import DraftForm
from rubricweb.editor.similar import similar_items
from rubricweb.editor.views.items import PAGE


@require_POST
def impact(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """The impact of the text typed so far, and the items that are similar to it."""
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = DraftForm(request.POST)
    context: dict[str, object] = {"bank": bank, "topic": topic, "collection": bank.collection}
    context |= {"panel": "editor/_impact.html", "title": "If you save this"}
    context["note"] = "Nothing has been saved. Go back in your browser to continue writing or to save."
    context |= _said_of(form, bank, topic)
    return page_or_part(request, PAGE, context, part="form")


def _said_of(form: DraftForm, bank: Bank, topic: Topic) -> Context:
    if not form.is_valid():
        return {"problem": " ".join(str(error) for errors in form.errors.values() for error in errors)}
    try:
        draft = form.draft(bank, topic)
    except ValidationError as error:
        return {"problem": " ".join(error.messages)}
    if draft is None:
        return {"draft": None}
    similar = similar_items(bank, topic, draft.text, but=draft.item)
    return {"draft": draft, "impact": impacts.impact(draft), "similar": similar}
