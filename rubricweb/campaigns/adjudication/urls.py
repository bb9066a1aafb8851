"""Decide between assessors, under a collection's work."""

from django.urls import path

from rubricweb.campaigns.adjudication import decide

DECIDE = "collections/<slug:slug>/work/decide/"
urlpatterns = [
    path(DECIDE, decide.decide, name="decide"),
    path(f"{DECIDE}unanimous/", decide.accept_unanimous, name="accept-unanimous"),
    path(f"{DECIDE}<int:decision_id>/withdraw/", decide.withdraw, name="decision-withdraw"),
]
