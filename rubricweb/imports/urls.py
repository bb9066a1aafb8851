from django.urls import path

from rubricweb.imports import views

app_name = "imports"
urlpatterns = [
    path("new-collection/", views.new_collection, name="new-collection"),
    path("collections/<slug:slug>/imports/", views.imports, name="imports"),
    path("collections/<slug:slug>/imports/<int:import_id>/", views.one_import, name="import"),
    path("collections/<slug:slug>/imports/<int:import_id>/add/", views.add, name="add"),
    path("collections/<slug:slug>/imports/<int:import_id>/check/", views.check, name="check"),
    path("collections/<slug:slug>/imports/<int:import_id>/start/", views.start, name="start"),
    path("collections/<slug:slug>/imports/<int:import_id>/discard/", views.discard, name="discard"),
    path(
        "collections/<slug:slug>/imports/<int:import_id>/leave-out/",
        views.leave_out_refused,
        name="leave-out",
    ),
    path("collections/<slug:slug>/imports/<int:import_id>/undo/", views.undo_import, name="undo"),
    path("collections/<slug:slug>/imports/<int:import_id>/files/<int:file_id>/", views.file, name="file"),
]
