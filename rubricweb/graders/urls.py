from django.urls import path

from rubricweb.graders import calibration, graders, kept, panels, prompts, rationales

app_name = "graders"
urlpatterns = [
    path("<slug:slug>/graders/", graders.graders, name="graders"),
    path("<slug:slug>/graders/trial/", graders.trial, name="trial"),
    path("<slug:slug>/graders/attempt/", graders.attempt, name="attempt"),
    path("<slug:slug>/graders/use/", graders.use, name="use"),
    path("<slug:slug>/graders/server/", graders.ask_server, name="ask-server"),
    path("<slug:slug>/graders/shown/", kept.default_grader, name="default-grader"),
    path("<slug:slug>/graders/answers/", kept.answers, name="answers"),
    path("<slug:slug>/graders/replies/", graders.replies, name="replies"),
    path("<slug:slug>/graders/panels/form/", graders.form_new_panel, name="panel-form"),
    path("<slug:slug>/graders/panels/<int:panel_id>/combine/", panels.combine, name="panel-combine"),
    path("<slug:slug>/graders/rationales/", rationales.check_rationales, name="check-rationales"),
    path("<slug:slug>/graders/rationales/<int:job_id>/", rationales.rationale_job, name="rationale-job"),
    path("<slug:slug>/graders/calibration/make/", calibration.make, name="calibrate"),
    path("<slug:slug>/graders/calibration/<int:card_id>/file/", calibration.card_file, name="card-file"),
    path("<slug:slug>/graders/calibration/<int:card_id>/badge/", calibration.badge, name="badge"),
    path("<slug:slug>/graders/prompts/write/", prompts.write, name="write"),
    path("<slug:slug>/graders/prompts/save/", prompts.save, name="save"),
    path("<slug:slug>/graders/prompts/preview/", prompts.preview, name="preview"),
    path("<slug:slug>/graders/prompts/try/", prompts.try_out, name="try"),
    path("<slug:slug>/graders/prompts/tries/<int:dry_run_id>/", prompts.dry_run, name="dry-run"),
    path("<slug:slug>/graders/prompts/<int:prompt_id>/put-away/", prompts.put_away, name="put-away"),
    path("<slug:slug>/graders/prompts/<int:prompt_id>/bring-back/", prompts.bring_back, name="bring-back"),
]
