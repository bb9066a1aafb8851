from django.urls import path

from rubricweb.editor import bank, chosen_items, drafts, history, impact, items, start, trial

app_name = "editor"
TOPIC = "editor/banks/<int:bank_id>/topics/<int:topic_id>/"
ITEM = "editor/banks/<int:bank_id>/items/<int:item_id>/"
DRAFT = "editor/banks/<int:bank_id>/drafts/<int:draft_id>/"
REQUEST = "editor/banks/<int:bank_id>/drafting/<int:request_id>/"
JOB = "editor/banks/<int:bank_id>/drafting/jobs/<int:draft_job_id>/"
IMPORTANCE = "editor/banks/<int:bank_id>/importance/<int:suggestion_id>/"
urlpatterns = [
    path("collections/<slug:slug>/editor/begin/", bank.bank_begin, name="bank-begin"),
    path(f"{TOPIC}add/", items.item_add, name="item-add"),
    path(f"{TOPIC}items/", chosen_items.items_change, name="items-change"),
    path(f"{TOPIC}items/undo/", chosen_items.items_undo, name="items-undo"),
    path(f"{TOPIC}trial/", trial.trial, name="trial"),
    path(f"{TOPIC}impact/", impact.impact, name="impact"),
    path("collections/<slug:slug>/editor/drafts/", drafts.review_drafts, name="review-drafts"),
    path("collections/<slug:slug>/editor/drafts/begin/", start.draft_all, name="draft-all"),
    path(f"{JOB}limits/", start.draft_limits, name="draft-limits"),
    path(f"{JOB}<slug:steer>/", start.draft_steer, name="draft-steer"),
    path(f"{TOPIC}drafts/", drafts.drafts, name="drafts"),
    path(f"{TOPIC}drafts/request/", drafts.drafts_request, name="drafts-request"),
    path(f"{TOPIC}drafts/accept/", drafts.drafts_accept, name="drafts-accept"),
    path(f"{TOPIC}drafts/reject/", drafts.drafts_reject, name="drafts-reject"),
    path(f"{TOPIC}drafts/reopen/", drafts.drafts_reopen, name="drafts-reopen"),
    path(f"{DRAFT}accept/", drafts.draft_accept, name="draft-accept"),
    path(f"{DRAFT}reject/", drafts.draft_reject, name="draft-reject"),
    path(f"{REQUEST}again/", drafts.request_again, name="request-again"),
    path(f"{REQUEST}cancel/", drafts.request_cancel, name="request-cancel"),
    path(f"{REQUEST}dismiss/", drafts.request_dismiss, name="request-dismiss"),
    path(f"{TOPIC}importance/request/", drafts.importance_request, name="importance-request"),
    path(f"{TOPIC}importance/accept/", drafts.importances_accept, name="importances-accept"),
    path(f"{IMPORTANCE}accept/", drafts.importance_accept, name="importance-accept"),
    path(f"{IMPORTANCE}leave/", drafts.importance_leave, name="importance-leave"),
    path(ITEM, bank.item, name="item"),
    path(f"{ITEM}edit/", items.item_edit, name="item-edit"),
    path(f"{ITEM}weigh/", items.item_weigh, name="item-weigh"),
    path(f"{ITEM}text/", items.item_supply, name="item-supply"),
    path(f"{ITEM}move/", items.item_move, name="item-move"),
    path(f"{ITEM}history/", items.item_history, name="item-history"),
    path(f"{ITEM}answer-key/", items.item_answer_key, name="item-answer-key"),
    path(f"{ITEM}hide/", items.item_hide, name="item-hide"),
    path(f"{ITEM}show/", items.item_show, name="item-show"),
    path(f"{ITEM}retire/", bank.item_retire, name="item-retire"),
    path(f"{ITEM}restore/", bank.item_restore, name="item-restore"),
    path("collections/<slug:slug>/editor/history/", history.history, name="history"),
    path(
        "collections/<slug:slug>/editor/history/<int:number>/restore/",
        history.version_restore,
        name="version-restore",
    ),
]
