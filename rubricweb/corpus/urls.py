from django.urls import path

from rubricweb.corpus import audit, people, runs, settings, topic_attributes

PEOPLE = "collections/<slug:slug>/people/"
ATTRIBUTES = "collections/<slug:slug>/attributes/"

app_name = "corpus"
urlpatterns = [
    path("collections/<slug:slug>/events/", settings.collection_events, name="events"),
    path("collections/<slug:slug>/settings/", settings.settings, name="settings"),
    path(ATTRIBUTES, topic_attributes.topic_attributes, name="topic-attributes"),
    path(f"{ATTRIBUTES}topics/<int:topic_id>/", topic_attributes.decide, name="attributes-decide"),
    path(PEOPLE, people.people, name="people"),
    path(f"{PEOPLE}members/", people.member, name="member"),
    path(f"{PEOPLE}members/<int:user_id>/password/", people.password_link, name="password-link"),
    path(f"{PEOPLE}members/<int:user_id>/remove/", people.remove, name="member-remove"),
    path(f"{PEOPLE}links/", people.invite, name="invitations"),
    path(f"{PEOPLE}links/<int:invitation_id>/revoke/", people.revoke, name="invitation-revoke"),
    path("collections/<slug:slug>/audit/", audit.audit, name="audit"),
    path("collections/<slug:slug>/audit/<str:form>/", audit.audit_file, name="audit-file"),
    path("collections/<slug:slug>/runs/", runs.runs, name="runs"),
    path("collections/<slug:slug>/runs/<int:run_id>/edit/", runs.run_edit, name="run-edit"),
    path("collections/<slug:slug>/runs/<int:run_id>/accept/", runs.run_accept, name="run-accept"),
    path("collections/<slug:slug>/runs/<int:run_id>/withdraw/", runs.run_withdraw, name="run-withdraw"),
]
