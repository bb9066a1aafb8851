"""Adjudication, under a collection's work."""

from django.urls import path

from rubricweb.campaigns.adjudication import views

ROOM = "collections/<slug:slug>/work/adjudication/"
urlpatterns = [
    path(ROOM, views.adjudication, name="adjudication"),
    path(f"{ROOM}unanimous/", views.accept_unanimous, name="accept-unanimous"),
    path(f"{ROOM}cells/<int:revision_id>/<int:passage_id>/", views.case, name="case"),
    path(f"{ROOM}decisions/<int:decision_id>/withdraw/", views.withdraw, name="decision-withdraw"),
    path("collections/<slug:slug>/work/overruled/", views.overruled, name="overruled"),
]
