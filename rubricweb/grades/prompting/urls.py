"""A collection's own prompts, under /grades/."""

from django.urls import path

from rubricweb.grades.prompting import views

urlpatterns = [
    path("<slug:slug>/prompts/", views.prompts, name="prompts"),
    path("<slug:slug>/prompts/write/", views.write, name="prompt-write"),
    path("<slug:slug>/prompts/save/", views.save, name="prompt-save"),
    path("<slug:slug>/prompts/preview/", views.preview, name="prompt-preview"),
    path("<slug:slug>/prompts/try/", views.try_out, name="prompt-try"),
    path("<slug:slug>/prompts/tries/<int:trial_id>/", views.trial, name="trial"),
    path("<slug:slug>/prompts/<int:prompt_id>/put-away/", views.put_away, name="prompt-put-away"),
    path("<slug:slug>/prompts/<int:prompt_id>/bring-back/", views.bring_back, name="prompt-bring-back"),
]
