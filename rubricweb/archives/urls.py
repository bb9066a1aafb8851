from django.urls import path

from rubricweb.archives import views

app_name = "archives"
urlpatterns = [
    path("restore/", views.restore, name="restore"),
    path("restorations/<int:restoration_id>/", views.restoration, name="restoration"),
    path("collections/<slug:slug>/archive/", views.archive, name="archive"),
    path("collections/<slug:slug>/archive/<int:archive_id>/download/", views.download, name="download"),
    path("collections/<slug:slug>/archive/delete/", views.delete, name="delete"),
    path("deletions/<int:deletion_id>/", views.deletion, name="deletion"),
    path("collections/<slug:slug>/runs/<int:run_id>/remove/", views.run_remove, name="run-remove"),
    path(
        "collections/<slug:slug>/archive/banks/<int:bank_id>/remove/", views.bank_remove, name="bank-remove"
    ),
]
