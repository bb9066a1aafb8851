from django.urls import path

from rubricweb.support import board_page, labelling

SUPPORT = "collections/<slug:slug>/support/"
LABEL = f"{SUPPORT}label/"
app_name = "support"
urlpatterns = [
    path(LABEL, labelling.label, name="label"),
    path(f"{LABEL}take-back/", labelling.take_back, name="take-back"),
    path(SUPPORT, board_page.board, name="board"),
    path(f"{SUPPORT}labelling/", board_page.choose, name="choose"),
    path(f"{SUPPORT}ask/", board_page.ask, name="ask"),
    path(f"{SUPPORT}jobs/<int:job_id>/retry/", board_page.retry, name="retry"),
]
