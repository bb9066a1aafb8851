from django.urls import path

from rubricweb.leaderboards import views

app_name = "leaderboards"
urlpatterns = [
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/runs/<int:run_id>/", views.run, name="run"),
]
