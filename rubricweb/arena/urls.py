from django.urls import path

from rubricweb.arena import board_page, questions, voting
from rubricweb.arena.judges import views as judges

VOTES = "collections/<slug:slug>/arena/"
VOTE = f"{VOTES}vote/"
BATTLE = f"{VOTE}<int:battle_id>/"
app_name = "arena"
urlpatterns = [
    path(VOTE, voting.vote, name="vote"),
    path(f"{VOTE}next/", voting.next_pair, name="next"),
    path(f"{VOTE}by-name/", voting.by_name, name="by-name"),
    path(f"{VOTE}ask/", questions.ask, name="ask"),
    path(f"{VOTE}questions/<int:question_id>/adopt/", questions.adopt, name="adopt"),
    path(BATTLE, voting.battle, name="battle"),
    path(f"{BATTLE}cast/", voting.cast, name="cast"),
    path(f"{BATTLE}take-back/", voting.take_back, name="take-back"),
    path(f"{BATTLE}reason/", voting.reason, name="reason"),
    path(f"{BATTLE}skip/", voting.skip, name="skip"),
    path(f"{BATTLE}json/", voting.battle_json, name="battle-json"),
    path(f"{BATTLE}pending/", questions.pending, name="pending"),
    path(f"{BATTLE}cancel/", questions.cancel, name="cancel"),
    path(f"{BATTLE}go-on/", questions.go_on, name="go-on"),
    path(f"{VOTES}judges/", judges.judges, name="judges"),
    path(f"{VOTES}judges/ask/", judges.ask, name="ask-judge"),
    path(VOTES, board_page.board, name="board"),
    path(f"{VOTES}file/<str:form>/", board_page.board_file, name="board-file"),
    path(f"{VOTES}events/<str:form>/", board_page.votes_file, name="votes-file"),
    path(f"{VOTES}keep/", board_page.keep_board, name="keep-board"),
    path(f"{VOTES}settings/", board_page.settings, name="settings"),
]
