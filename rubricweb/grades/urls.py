from django.urls import path

from rubricweb.grades.views import jobs, missing
from rubricweb.grades.views.answers import answers
from rubricweb.grades.views.default_grader import default_grader
from rubricweb.grades.views.pool import pool
from rubricweb.grades.views.replies import replies

app_name = "grades"
urlpatterns = [
    path("<slug:slug>/answers/", answers, name="answers"),
    path("<slug:slug>/default-grader/", default_grader, name="default-grader"),
    path("<slug:slug>/pool/", pool, name="pool"),
    path("<slug:slug>/replies/", replies, name="replies"),
    path("<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("<slug:slug>/jobs/<slug:kind>/<int:job_id>/<slug:act>/", jobs.steer, name="steer"),
    path("<slug:slug>/jobs/missing/", missing.missing, name="missing"),
    path("<slug:slug>/jobs/start/", missing.start, name="start"),
    path("<slug:slug>/jobs/retry-failed/", missing.retry_failed, name="retry-failed"),
    path("<slug:slug>/jobs/again/<int:grade_id>/", jobs.again, name="again"),
]
