from django.contrib.auth.decorators import login_required
from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from rubricweb.api import tokens
from rubricweb.api.resources import (
    NotHere,
    arena,
    assessment,
    banks,
    corpus,
    drafts,
    graders,
    grades,
    human_labels,
    imports,
    jobs,
    made_runs,
    one_answer,
    organizers,
    results,
    submissions,
    systems,
)

app_name = "api"
V1 = "api/v1/"
ONE = f"{V1}collections/<slug:slug>/"
TOPIC = f"{ONE}topics/<int:topic_id>/"
BANK = f"{ONE}banks/<int:bank_id>/"
DRAFTING = f"{BANK}drafting/<int:draft_job_id>/"
FLAG = f"{ONE}flags/<int:flag_id>/"
CAMPAIGN = f"{ONE}campaigns/<int:campaign_id>/"
WEBHOOK = f"{ONE}webhooks/<int:webhook_id>/"
SUBMISSION = f"{ONE}submissions/<int:submission_id>/"
RELEASE = f"{ONE}releases/<int:release_id>/"
JUDGING = f"{ONE}arena/judging/<int:judge_job_id>/"
IMPORT = f"{ONE}imports/<int:import_id>/"

urlpatterns = [
    path("api/tokens/", tokens.token_list, name="tokens"),
    path("api/tokens/<int:token_id>/revoke/", tokens.token_revoke, name="token-revoke"),
    path(f"{V1}openapi.json", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/docs/",
        login_required(
            SpectacularSwaggerSplitView.as_view(url_name="api:schema", template_name="api/docs.html")
        ),
        name="docs",
    ),
    path(f"{V1}collections/", corpus.Collections.as_view(), name="collections"),
    path(ONE, corpus.CollectionResource.as_view(), name="collection"),
    path(f"{ONE}topics/", corpus.Topics.as_view(), name="topics"),
    path(TOPIC, corpus.TopicResource.as_view(), name="topic"),
    path(f"{TOPIC}pool/", corpus.Pool.as_view(), name="pool"),
    path(f"{TOPIC}passages/<int:passage_id>/", corpus.PooledPassage.as_view(), name="passage"),
    path(f"{ONE}runs/", corpus.Runs.as_view(), name="runs"),
    path(f"{ONE}banks/", banks.Banks.as_view(), name="banks"),
    path(f"{BANK}items/", banks.Items.as_view(), name="items"),
    path(f"{BANK}items/<int:item_id>/", banks.ItemResource.as_view(), name="item"),
    path(f"{BANK}items/<int:item_id>/history/", banks.History.as_view(), name="item-history"),
    path(f"{BANK}items/<int:item_id>/what-if/", banks.ItemWhatIf.as_view(), name="what-if"),
    path(f"{BANK}impact/", banks.ItemImpact.as_view(), name="impact"),
    path(f"{BANK}drafting/", drafts.DraftJobs.as_view(), name="draft-jobs"),
    path(f"{BANK}drafting/plan/", drafts.DraftPlan.as_view(), name="draft-plan"),
    path(DRAFTING, drafts.DraftJobResource.as_view(), name="draft-job"),
    path(f"{DRAFTING}<slug:steer>/", drafts.DraftSteering.as_view(), name="draft-job-steer"),
    path(f"{BANK}versions/", banks.Versions.as_view(), name="versions"),
    path(f"{ONE}graders/", grades.Graders.as_view(), name="graders"),
    path(f"{ONE}graders/rationales/", grades.Rationales.as_view(), name="rationales"),
    path(f"{ONE}graders/chosen/", graders.ChosenGrader.as_view(), name="chosen-grader"),
    path(f"{ONE}graders/panels/", graders.Panels.as_view(), name="panels"),
    path(
        f"{ONE}graders/panels/<int:panel_id>/combine/", graders.PanelCombining.as_view(), name="panel-combine"
    ),
    path(f"{ONE}grades/", grades.Grades.as_view(), name="grades"),
    path(f"{ONE}ratings/", grades.Ratings.as_view(), name="ratings"),
    path(f"{ONE}leaderboard/", results.Leaderboard.as_view(), name="leaderboard"),
    path(f"{ONE}leaderboard/comparison/", results.ComparisonOfRuns.as_view(), name="comparison"),
    path(f"{ONE}qrels/", results.Qrels.as_view(), name="qrels"),
    path(f"{ONE}graded/", results.Graded.as_view(), name="graded"),
    path(f"{ONE}answers/", one_answer.GradedAnswer.as_view(), name="answers"),
    path(f"{ONE}jobs/", jobs.Jobs.as_view(), name="jobs"),
    path(f"{ONE}jobs/plan/", jobs.Plan.as_view(), name="job-plan"),
    path(f"{ONE}jobs/<int:job_id>/", jobs.JobResource.as_view(), name="job"),
    path(f"{ONE}jobs/<int:job_id>/<slug:steer>/", jobs.Steering.as_view(), name="job-steer"),
    path(f"{ONE}events/", corpus.Events.as_view(), name="events"),
    path(f"{ONE}flags/", assessment.Flags.as_view(), name="flags"),
    path(FLAG, assessment.FlagResource.as_view(), name="flag"),
    path(f"{FLAG}events/", assessment.FlagEvents.as_view(), name="flag-events"),
    path(f"{ONE}campaigns/", assessment.Campaigns.as_view(), name="campaigns"),
    path(f"{ONE}campaigns/plan/", assessment.PlannedCampaign.as_view(), name="campaign-plan"),
    path(CAMPAIGN, assessment.CampaignResource.as_view(), name="campaign"),
    path(f"{CAMPAIGN}<slug:steer>/", assessment.CampaignState.as_view(), name="campaign-steer"),
    path(f"{ONE}responses/", corpus.Responses.as_view(), name="responses"),
    path(f"{ONE}calls/", submissions.Calls.as_view(), name="calls"),
    path(
        f"{ONE}calls/<int:call_id>/submissions/",
        submissions.CallSubmissions.as_view(),
        name="call-submissions",
    ),
    path(f"{ONE}submissions/", submissions.Submissions.as_view(), name="submissions"),
    path(SUBMISSION, submissions.SubmissionResource.as_view(), name="submission"),
    path(f"{SUBMISSION}file/", submissions.SubmissionFile.as_view(), name="submission-file"),
    path(f"{SUBMISSION}<slug:steer>/", submissions.SubmissionState.as_view(), name="submission-steer"),
    path(f"{ONE}releases/", results.Releases.as_view(), name="releases"),
    path(RELEASE, results.ReleaseResource.as_view(), name="release"),
    path(f"{RELEASE}file/", results.ReleaseZip.as_view(), name="release-file"),
    path(f"{ONE}arena/board/", arena.VoteBoardResource.as_view(), name="arena-board"),
    path(f"{ONE}arena/votes/", arena.VoteList.as_view(), name="arena-votes"),
    path(f"{ONE}arena/battles/", arena.Battles.as_view(), name="arena-battles"),
    path(f"{ONE}arena/judging/", arena.JudgeJobs.as_view(), name="judge-jobs"),
    path(f"{ONE}arena/judging/plan/", arena.JudgePlan.as_view(), name="judge-plan"),
    path(JUDGING, arena.JudgeJobResource.as_view(), name="judge-job"),
    path(f"{JUDGING}<slug:steer>/", arena.JudgeSteering.as_view(), name="judge-job-steer"),
    path(f"{ONE}support/labels/", human_labels.SupportEvents.as_view(), name="support-labels"),
    path(
        f"{ONE}support/model-labels/", human_labels.SupportModelLabels.as_view(), name="support-model-labels"
    ),
    path(
        f"{ONE}support/answer-labels/",
        human_labels.SupportAnswerLabels.as_view(),
        name="support-answer-labels",
    ),
    path(f"{ONE}support/next/", human_labels.SupportNext.as_view(), name="support-next"),
    path(f"{ONE}calibration/", human_labels.Cards.as_view(), name="calibration-cards"),
    path(f"{ONE}calibration/<int:card_id>/", human_labels.CardResource.as_view(), name="calibration-card"),
    path(f"{ONE}retrieve/", systems.Retrieve.as_view(), name="retrieve"),
    path(f"{ONE}generate/", systems.Generate.as_view(), name="generate"),
    path(f"{ONE}rerank/", systems.Rerank.as_view(), name="rerank"),
    path(f"{ONE}steps/<int:step_id>/", systems.StepResource.as_view(), name="step"),
    path(f"{ONE}steps/<int:step_id>/<slug:steer>/", systems.StepSteering.as_view(), name="step-steer"),
    path(f"{ONE}made-runs/", made_runs.MadeRuns.as_view(), name="made-runs"),
    path(f"{ONE}made-runs/plan/", made_runs.MadeRunPlan.as_view(), name="made-run-plan"),
    path(f"{ONE}made-runs/<int:run_id>/", made_runs.MadeRun.as_view(), name="made-run"),
    path(
        f"{ONE}made-runs/<int:run_id>/<slug:steer>/",
        made_runs.MadeRunSteering.as_view(),
        name="made-run-steer",
    ),
    path(f"{ONE}imports/", imports.Imports.as_view(), name="imports"),
    path(IMPORT, imports.ImportResource.as_view(), name="import"),
    path(f"{IMPORT}files/<int:file_id>/", imports.ImportFileResource.as_view(), name="import-file"),
    path(f"{IMPORT}check/", imports.ImportCheck.as_view(), name="import-check"),
    path(f"{IMPORT}start/", imports.ImportStart.as_view(), name="import-start"),
    path(f"{IMPORT}undo/", imports.ImportUndo.as_view(), name="import-undo"),
    path(f"{ONE}members/", organizers.Members.as_view(), name="members"),
    path(f"{ONE}members/<int:user_id>/", organizers.Member.as_view(), name="member"),
    path(f"{ONE}invitations/", organizers.Invitations.as_view(), name="invitations"),
    path(
        f"{ONE}invitations/<int:invitation_id>/", organizers.InvitationResource.as_view(), name="invitation"
    ),
    path(f"{ONE}webhooks/", organizers.Webhooks.as_view(), name="webhooks"),
    path(WEBHOOK, organizers.WebhookResource.as_view(), name="webhook"),
    path(f"{WEBHOOK}secret/", organizers.WebhookSecret.as_view(), name="webhook-secret"),
    path(f"{WEBHOOK}replay/", organizers.WebhookReplay.as_view(), name="webhook-replay"),
    path(f"{WEBHOOK}messages/", organizers.WebhookMessages.as_view(), name="webhook-messages"),
    path(f"{WEBHOOK}<slug:act>/", organizers.WebhookAct.as_view(), name="webhook-act"),
    re_path(f"^{V1}", NotHere.as_view()),
]
