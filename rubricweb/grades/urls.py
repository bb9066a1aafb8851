from django.urls import path

from rubricweb.grades.views import job, jobs
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
    path("<slug:slug>/jobs/<int:job_id>/", job.job, name="job"),
    path("<slug:slug>/jobs/<int:job_id>/pause/", job.pause, name="pause"),
    path("<slug:slug>/jobs/<int:job_id>/resume/", job.resume, name="resume"),
    path("<slug:slug>/jobs/<int:job_id>/first/", job.first, name="first"),
    path("<slug:slug>/jobs/<int:job_id>/in-turn/", job.in_turn, name="in-turn"),
    path("<slug:slug>/jobs/<int:job_id>/cancel/", job.cancel, name="cancel"),
    path("<slug:slug>/jobs/<int:job_id>/retry/", job.retry, name="retry"),
    path("<slug:slug>/grades/<int:grade_id>/again/", job.again, name="again"),
    path("<slug:slug>/missing/", jobs.missing, name="missing"),
    path("<slug:slug>/start/", jobs.start, name="start"),
    path("<slug:slug>/retry-failed/", jobs.retry_failed, name="retry-failed"),
]
