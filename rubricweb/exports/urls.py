from django.urls import path

from rubricweb.exports import views

app_name = "exports"
urlpatterns = [
    path("<slug:slug>/", views.exports, name="exports"),
    path("<slug:slug>/qrels/", views.qrels, name="qrels"),
    path("<slug:slug>/flags/", views.flags, name="flags"),
    path("<slug:slug>/leaderboard/", views.leaderboard, name="leaderboard"),
]
