from django.urls import path

from rubricweb.prompts import grader_views, views

app_name = "prompts"
urlpatterns = [
    path("<slug:slug>/graders/", grader_views.graders, name="graders"),
    path("<slug:slug>/graders/ask/", grader_views.ask, name="ask"),
    path("<slug:slug>/graders/asked/<int:dry_run_id>/", grader_views.asked, name="asked"),
    path("<slug:slug>/prompts/", views.prompts, name="prompts"),
    path("<slug:slug>/prompts/write/", views.write, name="write"),
    path("<slug:slug>/prompts/save/", views.save, name="save"),
    path("<slug:slug>/prompts/preview/", views.preview, name="preview"),
    path("<slug:slug>/prompts/try/", views.try_out, name="try"),
    path("<slug:slug>/prompts/tries/<int:dry_run_id>/", views.dry_run, name="dry-run"),
    path("<slug:slug>/prompts/<int:prompt_id>/put-away/", views.put_away, name="put-away"),
    path("<slug:slug>/prompts/<int:prompt_id>/bring-back/", views.bring_back, name="bring-back"),
]
