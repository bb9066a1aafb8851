"""Campaigns, the assessor's queue and decisions."""

from django.urls import path

from rubricweb.campaigns import decide, new_campaign, queue

CAMPAIGNS = "collections/<slug:slug>/campaigns/"
CAMPAIGN = f"{CAMPAIGNS}<int:campaign_id>/"
QUEUE = f"{CAMPAIGNS}rate/<int:campaign_id>/"
DECIDE = f"{CAMPAIGNS}decide/"

app_name = "campaigns"
urlpatterns = [
    path(CAMPAIGNS, queue.campaigns, name="campaigns"),
    path(f"{CAMPAIGNS}new/", new_campaign.campaign_new, name="campaign-new"),
    path(f"{CAMPAIGNS}new/preview/", new_campaign.campaign_preview, name="campaign-preview"),
    path(QUEUE, queue.queue, name="queue"),
    path(f"{QUEUE}next/", queue.queue_next, name="queue-next"),
    path(CAMPAIGN, queue.campaign, name="campaign"),
    path(f"{CAMPAIGN}state/", queue.campaign_state, name="campaign-state"),
    path(f"{QUEUE}cells/<int:cell_id>/", queue.queue_cell, name="queue-cell"),
    path(f"{QUEUE}cells/<int:cell_id>/skip/", queue.queue_skip, name="queue-skip"),
    path(f"{QUEUE}cells/<int:cell_id>/comment/", queue.queue_comment, name="queue-comment"),
    path(f"{QUEUE}undo/", queue.queue_undo, name="queue-undo"),
    path(f"{QUEUE}beat/", queue.queue_beat, name="queue-beat"),
    path(f"{QUEUE}stop/", queue.queue_stop, name="queue-stop"),
    path(DECIDE, decide.decide, name="decide"),
    path(f"{DECIDE}unanimous/", decide.accept_unanimous, name="accept-unanimous"),
    path(f"{DECIDE}<int:decision_id>/withdraw/", decide.withdraw, name="decision-withdraw"),
]
