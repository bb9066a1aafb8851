from django.urls import path

from rubricweb.webhooks import views

ROOM = "collections/<slug:slug>/webhooks/"
ONE = f"{ROOM}<int:webhook_id>/"
DELIVERY = f"{ONE}messages/<int:delivery_id>/"

app_name = "webhooks"
urlpatterns = [
    path(ROOM, views.webhooks, name="webhooks"),
    path(ONE, views.webhook, name="webhook"),
    path(f"{ONE}secret/", views.secret, name="secret"),
    path(f"{ONE}remove/", views.remove, name="remove"),
    path(f"{ONE}replay/", views.replay_failed, name="replay-failed"),
    path(f"{ONE}<slug:act>/", views.act, name="act"),
    path(DELIVERY, views.delivery, name="delivery"),
    path(f"{DELIVERY}replay/", views.replay, name="replay"),
]
