from django.urls import path

from rubricweb.corpus import views
from rubricweb.corpus.audit import views as audit_views
from rubricweb.corpus.members import views as member_views
from rubricweb.corpus.runs import views as run_views

app_name = "corpus"
urlpatterns = [
    path("collections/<slug:slug>/events/", views.collection_events, name="events"),
    path("collections/<slug:slug>/settings/", views.settings, name="settings"),
    path("collections/<slug:slug>/members/", views.member, name="member"),
    path(
        "collections/<slug:slug>/members/<int:user_id>/password/", views.password_link, name="password-link"
    ),
    path("collections/<slug:slug>/members/<int:user_id>/remove/", member_views.remove, name="member-remove"),
    path("collections/<slug:slug>/invitations/", member_views.invite, name="invitations"),
    path(
        "collections/<slug:slug>/invitations/<int:invitation_id>/revoke/",
        member_views.revoke,
        name="invitation-revoke",
    ),
    path("collections/<slug:slug>/audit/", audit_views.audit, name="audit"),
    path("collections/<slug:slug>/audit/<str:form>/", audit_views.audit_file, name="audit-file"),
    path("collections/<slug:slug>/runs/", run_views.runs, name="runs"),
    path("collections/<slug:slug>/runs/<int:run_id>/edit/", run_views.run_edit, name="run-edit"),
    path("collections/<slug:slug>/runs/<int:run_id>/accept/", run_views.run_accept, name="run-accept"),
    path("collections/<slug:slug>/runs/<int:run_id>/withdraw/", run_views.run_withdraw, name="run-withdraw"),
]
