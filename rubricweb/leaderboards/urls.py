from django.urls import include, path

from rubricweb.leaderboards import views

app_name = "leaderboards"
urlpatterns = [
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/runs/<int:run_id>/", views.run, name="run"),
    path("", include("rubricweb.leaderboards.meta.urls")),
    path("", include("rubricweb.leaderboards.agreement.urls")),
    path("", include("rubricweb.leaderboards.influence.urls")),
    path("", include("rubricweb.leaderboards.moved.urls")),
    path("", include("rubricweb.leaderboards.figures.urls")),
    path("", include("rubricweb.leaderboards.public.urls")),
]
