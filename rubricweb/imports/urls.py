from django.urls import path

from rubricweb.imports import views

app_name = "imports"
IMPORTS = "collections/<slug:slug>/imports/"
IMPORT = f"{IMPORTS}<int:import_id>/"
urlpatterns = [
    path("imports/new-collection/", views.new_collection, name="new-collection"),
    path(IMPORTS, views.imports, name="imports"),
    path(IMPORT, views.one_import, name="import"),
    path(f"{IMPORT}add/", views.add, name="add"),
    path(f"{IMPORT}check/", views.check, name="check"),
    path(f"{IMPORT}start/", views.start, name="start"),
    path(f"{IMPORT}discard/", views.discard, name="discard"),
    path(f"{IMPORT}leave-out/", views.leave_out_refused, name="leave-out"),
    path(f"{IMPORT}undo/", views.undo_import, name="undo"),
    path(f"{IMPORT}files/<int:file_id>/", views.file, name="file"),
]
