from django.urls import path

from rubricweb.submissions import calls, submit

DESK = "collections/<slug:slug>/submissions/"
CALL = f"{DESK}calls/<int:call_id>/"
ONE = f"{DESK}<int:submission_id>/"

app_name = "submissions"
urlpatterns = [
    path(f"{DESK}submit/", submit.submit, name="submit"),
    path(DESK, calls.desk, name="desk"),
    path(f"{DESK}accept/", calls.accept_all, name="accept-all"),
    path(f"{DESK}calls/new/", calls.call_new, name="call-new"),
    path(CALL, calls.call, name="call"),
    path(f"{CALL}deadline/", calls.deadline, name="call-deadline"),
    path(ONE, submit.submission, name="submission"),
    path(f"{ONE}file/", submit.file, name="file"),
    path(f"{ONE}withdraw/", submit.withdraw, name="withdraw"),
    path(f"{ONE}accept/", submit.accept, name="accept"),
    path(f"{ONE}reject/", submit.reject, name="reject"),
    path(f"{ONE}undo-rejection/", submit.undo_rejection, name="undo-rejection"),
    path(f"{ONE}let-in/", submit.let_in, name="let-in"),
]
