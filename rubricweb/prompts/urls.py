from django.urls import path

from rubricweb.prompts import graders, kept, views

app_name = "prompts"
urlpatterns = [
    path("<slug:slug>/graders/", graders.graders, name="graders"),
    path("<slug:slug>/graders/trial/", graders.trial, name="trial"),
    path("<slug:slug>/graders/attempt/", graders.attempt, name="attempt"),
    path("<slug:slug>/graders/use/", graders.use, name="use"),
    path("<slug:slug>/graders/server/", graders.ask_server, name="ask-server"),
    path("<slug:slug>/graders/shown/", kept.default_grader, name="default-grader"),
    path("<slug:slug>/graders/answers/", kept.answers, name="answers"),
    path("<slug:slug>/graders/replies/", kept.replies, name="replies"),
    path("<slug:slug>/graders/prompts/write/", views.write, name="write"),
    path("<slug:slug>/graders/prompts/save/", views.save, name="save"),
    path("<slug:slug>/graders/prompts/preview/", views.preview, name="preview"),
    path("<slug:slug>/graders/prompts/try/", views.try_out, name="try"),
    path("<slug:slug>/graders/prompts/tries/<int:dry_run_id>/", views.dry_run, name="dry-run"),
    path("<slug:slug>/graders/prompts/<int:prompt_id>/put-away/", views.put_away, name="put-away"),
    path("<slug:slug>/graders/prompts/<int:prompt_id>/bring-back/", views.bring_back, name="bring-back"),
]
