from django.urls import path

from rubricweb.corpus import people, views
from rubricweb.corpus.audit import views as audit_views
from rubricweb.corpus.runs import page as run_page

PEOPLE = "collections/<slug:slug>/people/"

app_name = "corpus"
urlpatterns = [
    path("collections/<slug:slug>/events/", views.collection_events, name="events"),
    path("collections/<slug:slug>/settings/", views.settings, name="settings"),
    path(PEOPLE, people.people, name="people"),
    path(f"{PEOPLE}members/", people.member, name="member"),
    path(f"{PEOPLE}members/<int:user_id>/password/", people.password_link, name="password-link"),
    path(f"{PEOPLE}members/<int:user_id>/remove/", people.remove, name="member-remove"),
    path(f"{PEOPLE}links/", people.invite, name="invitations"),
    path(f"{PEOPLE}links/<int:invitation_id>/revoke/", people.revoke, name="invitation-revoke"),
    path("collections/<slug:slug>/audit/", audit_views.audit, name="audit"),
    path("collections/<slug:slug>/audit/<str:form>/", audit_views.audit_file, name="audit-file"),
    path("collections/<slug:slug>/runs/", run_page.runs, name="runs"),
    path("collections/<slug:slug>/runs/<int:run_id>/edit/", run_page.run_edit, name="run-edit"),
    path("collections/<slug:slug>/runs/<int:run_id>/accept/", run_page.run_accept, name="run-accept"),
    path("collections/<slug:slug>/runs/<int:run_id>/withdraw/", run_page.run_withdraw, name="run-withdraw"),
]
