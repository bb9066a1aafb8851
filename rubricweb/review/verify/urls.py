"""Checking a grader, under a collection and one of its banks."""

from django.urls import path

from rubricweb.review.verify import keys, views

VERIFY = "collections/<slug:slug>/work/verify/"
BANK = f"{VERIFY}<int:bank_id>/"
urlpatterns = [
    path(VERIFY, views.verify, name="verify"),
    path(BANK, views.verify, name="verify"),
    path(f"{BANK}undo/", views.undo, name="verify-undo"),
    path(f"{BANK}accept/", keys.accept, name="verify-accept"),
    path(f"{BANK}accept/undo/", keys.accept_undo, name="verify-accept-undo"),
    path(f"{BANK}estimates/", views.verify_estimates, name="verify-estimates"),
]
