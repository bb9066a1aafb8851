from django.urls import path

from rubricweb.support import job_views, label_views, views

app_name = "support"
urlpatterns = [
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/ask/", job_views.ask, name="ask"),
    path("<slug:slug>/jobs/<int:job_id>/", job_views.job, name="job"),
    path("<slug:slug>/jobs/<int:job_id>/limits/", job_views.limits, name="limits"),
    path("<slug:slug>/jobs/<int:job_id>/retry/", job_views.retry, name="retry"),
    path("<slug:slug>/labelling/", views.choose, name="choose"),
    path("<slug:slug>/label/", label_views.label, name="label"),
    path("<slug:slug>/label/take-back/", label_views.take_back, name="take-back"),
]
