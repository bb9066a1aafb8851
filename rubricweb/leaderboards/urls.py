from django.urls import path, re_path

from rubricweb.leaderboards import views
from rubricweb.leaderboards.by_attribute.views import by_attribute
from rubricweb.leaderboards.comparison.views import comparison
from rubricweb.leaderboards.moved.views import moved
from rubricweb.leaderboards.public.views import close, public, publish
from rubricweb.leaderboards.sure.views import official_add, official_remove, sure

app_name = "leaderboards"
urlpatterns = [
    path("leaderboards/<slug:slug>/", views.board, name="board"),
    path("leaderboards/<slug:slug>/runs/<int:run_id>/", views.run, name="run"),
    path("collections/<slug:slug>/leaderboards/sure/", sure, name="sure"),
    path("collections/<slug:slug>/leaderboards/sure/official/", official_add, name="official-add"),
    path(
        "collections/<slug:slug>/leaderboards/sure/official/remove/", official_remove, name="official-remove"
    ),
    path("leaderboards/<slug:slug>/by-attribute/", by_attribute, name="by-attribute"),
    path("leaderboards/<slug:slug>/comparison/", comparison, name="comparison"),
    path("leaderboards/<slug:slug>/moved/", moved, name="moved"),
    # Longer than any name of a page under a collection of this name.
    re_path(r"^leaderboards/public/(?P<token>[A-Za-z0-9_-]{24,60})/$", public, name="public"),
    path("leaderboards/<slug:slug>/publish/", publish, name="publish"),
    path("leaderboards/<slug:slug>/publish/<int:board_id>/close/", close, name="public-close"),
]
