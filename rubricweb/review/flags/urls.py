"""Flags and comments, under /review/."""

from django.urls import path

from rubricweb.review.flags import views

urlpatterns = [
    path("review/<slug:slug>/flags/", views.inbox, name="flags"),
    path("review/<slug:slug>/flags/<int:flag_id>/", views.flag, name="flag"),
    path("review/<slug:slug>/flags/<int:flag_id>/assign/", views.flag_assign, name="flag-assign"),
    path(
        "review/banks/<int:bank_id>/topics/<int:topic_id>/flags/", views.subject_flags, name="subject-flags"
    ),
]
