"""Campaigns and the assessor's queue, under a collection's work."""

from django.urls import path

from rubricweb.campaigns.queue import new_campaign, views

WORK = "collections/<slug:slug>/work/"
CAMPAIGN = f"{WORK}campaigns/<int:campaign_id>/"
QUEUE = f"{WORK}rate/<int:campaign_id>/"
urlpatterns = [
    path(f"{WORK}campaigns/", views.campaigns, name="campaigns"),
    path(f"{WORK}campaigns/new/", new_campaign.campaign_new, name="campaign-new"),
    path(f"{WORK}campaigns/new/preview/", new_campaign.campaign_preview, name="campaign-preview"),
    path(QUEUE, views.queue, name="queue"),
    path(f"{QUEUE}next/", views.queue_next, name="queue-next"),
    path(CAMPAIGN, views.campaign, name="campaign"),
    path(f"{CAMPAIGN}state/", views.campaign_state, name="campaign-state"),
    path(f"{QUEUE}cells/<int:cell_id>/", views.queue_cell, name="queue-cell"),
    path(f"{QUEUE}cells/<int:cell_id>/skip/", views.queue_skip, name="queue-skip"),
    path(f"{QUEUE}cells/<int:cell_id>/comment/", views.queue_comment, name="queue-comment"),
    path(f"{QUEUE}undo/", views.queue_undo, name="queue-undo"),
    path(f"{QUEUE}beat/", views.queue_beat, name="queue-beat"),
    path(f"{QUEUE}stop/", views.queue_stop, name="queue-stop"),
]
