from django.urls import path

from rubricweb.support import asking, board_page, label_page

LABEL, SUPPORT = "collections/<slug:slug>/work/label/", "collections/<slug:slug>/support/"
app_name = "support"
urlpatterns = [
    path(LABEL, label_page.label, name="label"),
    path(f"{LABEL}take-back/", label_page.take_back, name="take-back"),
    path(SUPPORT, board_page.board, name="board"),
    path(f"{SUPPORT}labelling/", board_page.choose, name="choose"),
    path(f"{SUPPORT}ask/", asking.ask, name="ask"),
    path(f"{SUPPORT}jobs/<int:job_id>/limits/", asking.limits, name="limits"),
    path(f"{SUPPORT}jobs/<int:job_id>/retry/", asking.retry, name="retry"),
]
