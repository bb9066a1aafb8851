from django.urls import path

from rubricweb.grades.views import jobs
from rubricweb.grades.views.impact import impact

app_name = "grades"
urlpatterns = [
    path("<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("<slug:slug>/jobs/<int:job_id>/cancel/", jobs.cancel, name="cancel"),
    path("<slug:slug>/missing/", jobs.missing, name="missing"),
    path("<slug:slug>/start/", jobs.start, name="start"),
    path("banks/<int:bank_id>/topics/<int:topic_id>/impact/", impact, name="impact"),
]
