from django.urls import path

from rubricweb.exports import assignments, banks, boards, corpus, events, support, workbench

app_name = "exports"
urlpatterns = [
    path("<slug:slug>/exports/qrels/", boards.qrels_file, name="qrels"),
    path("<slug:slug>/exports/qrels/losses/", boards.qrels_losses_file, name="qrels-losses"),
    path("<slug:slug>/exports/flags/", events.flags, name="flags"),
    path("<slug:slug>/exports/human-grades/", events.human_grades, name="human-grades"),
    path("<slug:slug>/exports/random-cells/", events.random_cells, name="random-cells"),
    path("<slug:slug>/exports/banks/<int:bank_id>/", banks.bank_page, name="bank"),
    path("<slug:slug>/exports/banks/<int:bank_id>/file/", banks.bank_file, name="bank-file"),
    path("<slug:slug>/exports/banks/<int:bank_id>/losses/", banks.bank_losses, name="bank-losses"),
    path(
        "<slug:slug>/exports/banks/<int:bank_id>/assessments/",
        assignments.assessments_page,
        name="assessments",
    ),
    path(
        "<slug:slug>/exports/banks/<int:bank_id>/assessments/file/",
        assignments.assessments_file,
        name="assessments-file",
    ),
    path(
        "<slug:slug>/exports/banks/<int:bank_id>/listings/<str:listing>/", workbench.listing, name="listing"
    ),
    path("<slug:slug>/exports/topics/", corpus.topics_page, name="topics"),
    path("<slug:slug>/exports/topics/file/", corpus.topics_file, name="topics-file"),
    path("<slug:slug>/exports/passages/", corpus.passages_file, name="passages"),
    path("<slug:slug>/exports/runs/<int:run_id>/", corpus.run_page, name="run"),
    path("<slug:slug>/exports/runs/<int:run_id>/file/", corpus.run_file, name="run-file"),
    path("<slug:slug>/exports/support/", support.support_page, name="support-labels"),
    path("<slug:slug>/exports/support/<str:file>/", support.support, name="support"),
    path("<slug:slug>/exports/graded/", workbench.graded, name="graded"),
    path("<slug:slug>/exports/leaderboard/", boards.leaderboard_file, name="leaderboard"),
]
