"""A topic with its grid and rubric, cells, saved views, flags, problems and the check of a grader."""

from django.urls import path

from rubricweb.review import bulk, cells, grid, passage, responses
from rubricweb.review.flags import views as flags
from rubricweb.review.problems import views as problems
from rubricweb.review.verify import views as verify

TOPIC = "review/banks/<int:bank_id>/topics/<int:topic_id>/"
CELL = f"{TOPIC}cells/<int:passage_id>/<int:item_id>/"
VIEWS = "collections/<slug:slug>/review/views/"
VERIFY = "collections/<slug:slug>/review/verify/"
VERIFIED_BANK = f"{VERIFY}<int:bank_id>/"
FLAGS = "collections/<slug:slug>/review/flags/"
PROBLEMS = "collections/<slug:slug>/review/problems/"

app_name = "review"
urlpatterns = [
    path(TOPIC, grid.topic, name="topic"),
    path(f"{TOPIC}bulk/", bulk.bulk, name="bulk"),
    path(CELL, cells.cell, name="cell"),
    path(f"{CELL}rate/", cells.rate, name="rate"),
    path(f"{CELL}undo/", cells.undo, name="undo"),
    path(f"{TOPIC}passages/<int:passage_id>/", passage.passage, name="passage"),
    path(VIEWS, grid.view_save, name="view-save"),
    path(f"{VIEWS}<int:view_id>/drop/", grid.view_drop, name="view-drop"),
    path(VERIFY, verify.verify, name="verify"),
    path(VERIFIED_BANK, verify.verify, name="verify"),
    path(f"{VERIFIED_BANK}undo/", verify.undo, name="verify-undo"),
    path(f"{VERIFIED_BANK}accept/", verify.accept, name="verify-accept"),
    path(f"{VERIFIED_BANK}accept/undo/", verify.accept_undo, name="verify-accept-undo"),
    path(f"{VERIFIED_BANK}estimates/", verify.verify_estimates, name="verify-estimates"),
    path(FLAGS, flags.inbox, name="flags"),
    path(f"{FLAGS}<int:flag_id>/", flags.flag, name="flag"),
    path(f"{FLAGS}<int:flag_id>/assign/", flags.flag_assign, name="flag-assign"),
    path(f"{TOPIC}flags/", flags.subject_flags, name="subject-flags"),
    path(f"{TOPIC}runs/<int:run_id>/", responses.response, name="response"),
    path(PROBLEMS, problems.problems, name="problems"),
    path(f"{PROBLEMS}near-duplicates/", problems.search, name="problems-search"),
]
