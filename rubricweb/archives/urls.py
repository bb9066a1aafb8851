from django.urls import path

from rubricweb.archives import views

app_name = "archives"
urlpatterns = [
    path("archives/restore/", views.restore, name="restore"),
    path("archives/restorations/<int:restoration_id>/", views.restoration, name="restoration"),
    path("collections/<slug:slug>/archives/", views.archive, name="archive"),
    path("collections/<slug:slug>/archives/<int:archive_id>/download/", views.download, name="download"),
    path("collections/<slug:slug>/archives/delete/", views.delete, name="delete"),
    path("archives/deletions/<int:deletion_id>/", views.deletion, name="deletion"),
    path("collections/<slug:slug>/archives/runs/<int:run_id>/remove/", views.run_remove, name="run-remove"),
    path(
        "collections/<slug:slug>/archives/banks/<int:bank_id>/remove/", views.bank_remove, name="bank-remove"
    ),
]
