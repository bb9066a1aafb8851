from django.urls import path

from rubricweb.grades import jobs, missing
from rubricweb.grades.pool import pool

app_name = "grades"
urlpatterns = [
    path("<slug:slug>/grades/pool/", pool, name="pool"),
    path("<slug:slug>/grades/jobs/", jobs.jobs, name="jobs"),
    path("<slug:slug>/grades/jobs/<slug:kind>/<int:job_id>/limits/", jobs.limits, name="limits"),
    path("<slug:slug>/grades/jobs/<slug:kind>/<int:job_id>/<slug:act>/", jobs.steer, name="steer"),
    path("<slug:slug>/grades/jobs/missing/", missing.missing, name="missing"),
    path("<slug:slug>/grades/jobs/start/", missing.start, name="start"),
    path("<slug:slug>/grades/jobs/retry-failed/", missing.retry_failed, name="retry-failed"),
    path("<slug:slug>/grades/jobs/again/<int:grade_id>/", jobs.again, name="again"),
]
