"""Checking a grader, under a collection and one of its banks."""

from django.urls import path

from rubricweb.review.verify import keys, views

BANK = "review/<slug:slug>/banks/<int:bank_id>/verify/"
urlpatterns = [
    path(BANK, views.verify, name="verify"),
    path(f"{BANK}undo/", views.undo, name="verify-undo"),
    path(f"{BANK}accept/", keys.accept, name="verify-accept"),
    path(f"{BANK}accept/undo/", keys.accept_undo, name="verify-accept-undo"),
    path(f"{BANK}estimates/", views.verify_estimates, name="verify-estimates"),
]
