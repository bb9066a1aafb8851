from django.urls import path, re_path

from rubricweb.leaderboards import views
from rubricweb.leaderboards.comparison.views import compare
from rubricweb.leaderboards.public.views import close, public
from rubricweb.leaderboards.sure.views import official_add, official_remove, sure

ROOM = "collections/<slug:slug>/leaderboards/"

app_name = "leaderboards"
urlpatterns = [
    path("leaderboards/<slug:slug>/", views.board, name="board"),
    path(f"{ROOM}compare/", compare, name="compare"),
    path(f"{ROOM}sure/", sure, name="sure"),
    path(f"{ROOM}sure/official/", official_add, name="official-add"),
    path(f"{ROOM}sure/official/remove/", official_remove, name="official-remove"),
    # Longer than any name of a page under a collection of this name.
    re_path(r"^leaderboards/public/(?P<token>[A-Za-z0-9_-]{24,60})/$", public, name="public"),
    path("leaderboards/<slug:slug>/publish/<int:board_id>/close/", close, name="public-close"),
]
