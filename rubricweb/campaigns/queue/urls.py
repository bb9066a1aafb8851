"""Campaigns and the assessor's queue, under /review/."""

from django.urls import path

from rubricweb.campaigns.queue import views

QUEUE = "review/<slug:slug>/queue/<int:campaign_id>/"
urlpatterns = [
    path("review/<slug:slug>/queue/", views.campaigns, name="campaigns"),
    path("review/<slug:slug>/queue/new/", views.campaign_new, name="campaign-new"),
    path("review/<slug:slug>/queue/new/preview/", views.campaign_preview, name="campaign-preview"),
    path("review/<slug:slug>/queue/new/topics/", views.campaign_topics, name="campaign-topics"),
    path(QUEUE, views.queue, name="queue"),
    path(f"{QUEUE}topics/", views.queue_topics, name="queue-topics"),
    path(f"{QUEUE}next/", views.queue_next, name="queue-next"),
    path(f"{QUEUE}progress/", views.campaign, name="campaign"),
    path(f"{QUEUE}state/", views.campaign_state, name="campaign-state"),
    path(f"{QUEUE}cells/<int:cell_id>/", views.queue_cell, name="queue-cell"),
    path(f"{QUEUE}cells/<int:cell_id>/skip/", views.queue_skip, name="queue-skip"),
    path(f"{QUEUE}cells/<int:cell_id>/comment/", views.queue_comment, name="queue-comment"),
    path(f"{QUEUE}undo/", views.queue_undo, name="queue-undo"),
    path(f"{QUEUE}beat/", views.queue_beat, name="queue-beat"),
    path(f"{QUEUE}stop/", views.queue_stop, name="queue-stop"),
]
