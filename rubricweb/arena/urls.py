from django.urls import path

from rubricweb.arena import views
from rubricweb.arena.fresh import views as fresh

BATTLE = "arena/<slug:slug>/battles/<int:battle_id>/"
app_name = "arena"
urlpatterns = [
    path("arena/<slug:slug>/", views.arena, name="arena"),
    path("arena/<slug:slug>/next/", views.next_battle, name="next"),
    path("arena/<slug:slug>/by-name/", views.by_name, name="by-name"),
    path("arena/<slug:slug>/settings/", views.settings, name="settings"),
    path("arena/<slug:slug>/board/", views.board, name="board"),
    path("arena/<slug:slug>/board/file/<str:form>/", views.board_file, name="board-file"),
    path("arena/<slug:slug>/votes/file/<str:form>/", views.votes_file, name="votes-file"),
    path("arena/<slug:slug>/board/keep/", views.keep_board, name="keep-board"),
    path("arena/<slug:slug>/rubric/", views.rubric, name="rubric"),
    path("arena/<slug:slug>/ask/", fresh.ask, name="ask"),
    path("arena/<slug:slug>/questions/<int:question_id>/adopt/", fresh.adopt, name="adopt"),
    path(f"{BATTLE}pending/", fresh.pending, name="pending"),
    path(f"{BATTLE}cancel/", fresh.cancel, name="cancel"),
    path(f"{BATTLE}go-on/", fresh.go_on, name="go-on"),
    path(f"{BATTLE}made/<str:side>/", fresh.how_made, name="how-made"),
    path(BATTLE, views.battle, name="battle"),
    path(f"{BATTLE}vote/", views.vote, name="vote"),
    path(f"{BATTLE}take-back/", views.take_back, name="take-back"),
    path(f"{BATTLE}reason/", views.reason, name="reason"),
    path(f"{BATTLE}skip/", views.skip, name="skip"),
    path(f"{BATTLE}json/", views.battle_json, name="battle-json"),
]
