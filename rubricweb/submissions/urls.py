from django.urls import path

from rubricweb.submissions import calls, reports, submit

DESK = "collections/<slug:slug>/submissions/"
CALL = f"{DESK}calls/<int:call_id>/"
ONE = f"{DESK}<int:submission_id>/"

app_name = "submissions"
urlpatterns = [
    path("collections/<slug:slug>/submit/", submit.submit, name="submit"),
    path(DESK, calls.desk, name="desk"),
    path(f"{DESK}accept/", calls.accept_all, name="accept-all"),
    path(f"{DESK}calls/new/", calls.call_new, name="call-new"),
    path(CALL, calls.call, name="call"),
    path(f"{CALL}deadline/", calls.deadline, name="call-deadline"),
    path(ONE, reports.submission, name="submission"),
    path(f"{ONE}file/", reports.file, name="file"),
    path(f"{ONE}withdraw/", reports.withdraw, name="withdraw"),
    path(f"{ONE}accept/", reports.accept, name="accept"),
    path(f"{ONE}reject/", reports.reject, name="reject"),
    path(f"{ONE}undo-rejection/", reports.undo_rejection, name="undo-rejection"),
    path(f"{ONE}let-in/", reports.let_in, name="let-in"),
]
