from django.urls import include, path, re_path

from rubricweb.leaderboards import views
from rubricweb.leaderboards.agreement.views import agreement
from rubricweb.leaderboards.comparison.views import compare
from rubricweb.leaderboards.figures.views import figure_page, figures
from rubricweb.leaderboards.influence.views import influence
from rubricweb.leaderboards.meta.views import meta, official_add, official_remove
from rubricweb.leaderboards.public.views import close, public

app_name = "leaderboards"
old_addresses = [
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/meta/", meta, name="meta"),
    path("<slug:slug>/meta/official/", official_add, name="official-add"),
    path("<slug:slug>/meta/official/remove/", official_remove, name="official-remove"),
    path("<slug:slug>/agreement/", agreement, name="agreement"),
    path("<slug:slug>/influence/", influence, name="influence"),
    path("<slug:slug>/figures/", figures, name="figures"),
    path("<slug:slug>/figures/file/", figure_page, name="figure-file"),
    # Longer than any name of a page under a collection of this name.
    re_path(r"^public/(?P<token>[A-Za-z0-9_-]{24,60})/$", public, name="public"),
    path("<slug:slug>/publish/<int:board_id>/close/", close, name="public-close"),
]
urlpatterns = [
    path("collections/<slug:slug>/leaderboards/compare/", compare, name="compare"),
    path("leaderboards/", include(old_addresses)),
]
