from django.urls import path, re_path

from rubricweb.leaderboards import views
from rubricweb.leaderboards.agreement.views import agreement
from rubricweb.leaderboards.board_page import board, plot
from rubricweb.leaderboards.by_attribute.views import by_attribute
from rubricweb.leaderboards.comparison.views import comparison
from rubricweb.leaderboards.figures.views import figure_page, figures
from rubricweb.leaderboards.influence.views import influence
from rubricweb.leaderboards.meta.views import meta, official_add, official_remove
from rubricweb.leaderboards.moved.views import moved
from rubricweb.leaderboards.public.views import close, public, public_file, publish

app_name = "leaderboards"
ROOM = "collections/<slug:slug>/leaderboards/"
FORMER = "leaderboards/<slug:slug>/"
PUBLIC = "leaderboards/public/(?P<token>[A-Za-z0-9_-]{24,60})/"
urlpatterns = [
    path(ROOM, board, name="board"),
    path(f"{ROOM}plot.svg", plot, name="plot"),
    path(f"{ROOM}publish/", publish, name="publish"),
    path(f"{ROOM}publish/<int:board_id>/close/", close, name="public-close"),
    path(f"{FORMER}runs/<int:run_id>/", views.run, name="run"),
    path(f"{FORMER}meta/", meta, name="meta"),
    path(f"{FORMER}meta/official/", official_add, name="official-add"),
    path(f"{FORMER}meta/official/remove/", official_remove, name="official-remove"),
    path(f"{FORMER}agreement/", agreement, name="agreement"),
    path(f"{FORMER}influence/", influence, name="influence"),
    path(f"{FORMER}by-attribute/", by_attribute, name="by-attribute"),
    path(f"{FORMER}comparison/", comparison, name="comparison"),
    path(f"{FORMER}moved/", moved, name="moved"),
    path(f"{FORMER}figures/", figures, name="figures"),
    path(f"{FORMER}figures/file/", figure_page, name="figure-file"),
    re_path(rf"{PUBLIC}$", public, name="public"),
    re_path(rf"{PUBLIC}leaderboard\.tsv$", public_file, name="public-file"),
]
