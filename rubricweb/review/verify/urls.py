"""Checking a grader, under a collection and one of its banks."""

from django.urls import path

from rubricweb.review.verify import views

BANK = "review/<slug:slug>/banks/<int:bank_id>/verify/"
urlpatterns = [
    path(BANK, views.verify, name="verify"),
    path(f"{BANK}undo/", views.undo, name="verify-undo"),
    path(f"{BANK}estimates/", views.verify_estimates, name="verify-estimates"),
]
