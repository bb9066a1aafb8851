"""The inbox of drafts, under /banks/."""

from django.urls import path

from rubricweb.banks.drafting import views
from rubricweb.banks.drafting import weighing_views as weighing

urlpatterns = [
    path("<int:bank_id>/topics/<int:topic_id>/drafts/", views.drafts, name="drafts"),
    path("<int:bank_id>/topics/<int:topic_id>/drafts/request/", views.drafts_request, name="drafts-request"),
    path("<int:bank_id>/topics/<int:topic_id>/drafts/accept/", views.drafts_accept, name="drafts-accept"),
    path("<int:bank_id>/topics/<int:topic_id>/drafts/reject/", views.drafts_reject, name="drafts-reject"),
    path("<int:bank_id>/drafts/<int:draft_id>/accept/", views.draft_accept, name="draft-accept"),
    path("<int:bank_id>/drafts/<int:draft_id>/reject/", views.draft_reject, name="draft-reject"),
    path(
        "<int:bank_id>/topics/<int:topic_id>/importance/request/",
        weighing.importance_request,
        name="importance-request",
    ),
    path(
        "<int:bank_id>/topics/<int:topic_id>/importance/accept/",
        weighing.importances_accept,
        name="importances-accept",
    ),
    path(
        "<int:bank_id>/importance/<int:suggestion_id>/accept/",
        weighing.importance_accept,
        name="importance-accept",
    ),
    path(
        "<int:bank_id>/importance/<int:suggestion_id>/leave/",
        weighing.importance_leave,
        name="importance-leave",
    ),
    path("<int:bank_id>/drafting/<int:request_id>/again/", views.request_again, name="request-again"),
    path("<int:bank_id>/drafting/<int:request_id>/dismiss/", views.request_dismiss, name="request-dismiss"),
]
