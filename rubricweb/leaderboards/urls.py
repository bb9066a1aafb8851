from django.urls import path, re_path

from rubricweb.leaderboards.board_page import board, plot
from rubricweb.leaderboards.comparison.in_context import start_in_context
from rubricweb.leaderboards.comparison.page import compare
from rubricweb.leaderboards.public import close, public, public_file
from rubricweb.leaderboards.sure.page import official_add, official_remove, sure

app_name = "leaderboards"
ROOM = "collections/<slug:slug>/leaderboards/"
PUBLIC = "leaderboards/public/(?P<token>[A-Za-z0-9_-]{24,60})/"
urlpatterns = [
    path(ROOM, board, name="board"),
    path(f"{ROOM}plot.svg", plot, name="plot"),
    path(f"{ROOM}compare/", compare, name="compare"),
    path(f"{ROOM}compare/context/", start_in_context, name="context-start"),
    path(f"{ROOM}sure/", sure, name="sure"),
    path(f"{ROOM}sure/official/", official_add, name="official-add"),
    path(f"{ROOM}sure/official/remove/", official_remove, name="official-remove"),
    path(f"{ROOM}public/<int:board_id>/close/", close, name="public-close"),
    re_path(rf"{PUBLIC}$", public, name="public"),
    re_path(rf"{PUBLIC}leaderboard\.tsv$", public_file, name="public-file"),
]
