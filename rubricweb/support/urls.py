from django.urls import path

from rubricweb.support import label_views, views

app_name = "support"
urlpatterns = [
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/ask/", views.ask, name="ask"),
    path("<slug:slug>/jobs/<int:job_id>/", views.job_act, name="job"),
    path("<slug:slug>/labelling/", views.choose, name="choose"),
    path("<slug:slug>/label/", label_views.label, name="label"),
    path("<slug:slug>/label/take-back/", label_views.take_back, name="take-back"),
]
