from django.urls import path

from rubricweb.grades import jobs, missing
from rubricweb.grades.pool import pool

app_name = "grades"
urlpatterns = [
    path("<slug:slug>/pool/", pool, name="pool"),
    path("<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("<slug:slug>/jobs/<slug:kind>/<int:job_id>/<slug:act>/", jobs.steer, name="steer"),
    path("<slug:slug>/jobs/missing/", missing.missing, name="missing"),
    path("<slug:slug>/jobs/start/", missing.start, name="start"),
    path("<slug:slug>/jobs/retry-failed/", missing.retry_failed, name="retry-failed"),
    path("<slug:slug>/jobs/again/<int:grade_id>/", jobs.again, name="again"),
]
