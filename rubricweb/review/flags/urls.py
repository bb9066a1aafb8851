"""Flags and comments, under a collection's work."""

from django.urls import path

from rubricweb.review.flags import views

FLAGS = "collections/<slug:slug>/work/flags/"
urlpatterns = [
    path(FLAGS, views.inbox, name="flags"),
    path(f"{FLAGS}<int:flag_id>/", views.flag, name="flag"),
    path(f"{FLAGS}<int:flag_id>/assign/", views.flag_assign, name="flag-assign"),
    path(
        "review/banks/<int:bank_id>/topics/<int:topic_id>/flags/", views.subject_flags, name="subject-flags"
    ),
]
