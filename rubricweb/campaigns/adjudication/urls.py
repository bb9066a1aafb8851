"""Adjudication, under /review/."""

from django.urls import path

from rubricweb.campaigns.adjudication import views

ROOM = "review/<slug:slug>/adjudication/"
urlpatterns = [
    path(ROOM, views.adjudication, name="adjudication"),
    path(f"{ROOM}unanimous/", views.accept_unanimous, name="accept-unanimous"),
    path(f"{ROOM}cells/<int:revision_id>/<int:passage_id>/", views.case, name="case"),
    path(f"{ROOM}decisions/<int:decision_id>/withdraw/", views.withdraw, name="decision-withdraw"),
    path("review/<slug:slug>/overruled/", views.overruled, name="overruled"),
]
