from django.urls import path

from rubricweb.submissions import views

app_name = "submissions"
urlpatterns = [
    path("collections/<slug:slug>/submit/", views.team, name="team"),
    path("collections/<slug:slug>/submissions/", views.desk, name="desk"),
    path("collections/<slug:slug>/calls/new/", views.call_new, name="call-new"),
    path("collections/<slug:slug>/calls/<int:call_id>/edit/", views.call_edit, name="call-edit"),
    path("collections/<slug:slug>/calls/<int:call_id>/rules/", views.call_rules, name="call-rules"),
    path("collections/<slug:slug>/calls/<int:call_id>/submit/", views.submit, name="submit"),
    path("collections/<slug:slug>/submissions/<int:submission_id>/", views.submission, name="submission"),
    path("collections/<slug:slug>/submissions/<int:submission_id>/file/", views.file, name="file"),
    path(
        "collections/<slug:slug>/submissions/<int:submission_id>/withdraw/", views.withdraw, name="withdraw"
    ),
    path("collections/<slug:slug>/submissions/accept/", views.accept_all, name="accept-all"),
    path("collections/<slug:slug>/submissions/<int:submission_id>/accept/", views.accept, name="accept"),
    path("collections/<slug:slug>/submissions/<int:submission_id>/reject/", views.reject, name="reject"),
    path(
        "collections/<slug:slug>/submissions/<int:submission_id>/undo-rejection/",
        views.undo_rejection,
        name="undo-rejection",
    ),
    path("collections/<slug:slug>/submissions/<int:submission_id>/let-in/", views.let_in, name="let-in"),
]
