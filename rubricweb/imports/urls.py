from django.urls import path

from rubricweb.imports import one_import, upload

app_name = "imports"
IMPORTS = "collections/<slug:slug>/imports/"
IMPORT = f"{IMPORTS}<int:import_id>/"
urlpatterns = [
    path("imports/new-collection/", upload.new_collection, name="new-collection"),
    path(IMPORTS, upload.imports, name="imports"),
    path(IMPORT, one_import.one_import, name="import"),
    path(f"{IMPORT}add/", one_import.add, name="add"),
    path(f"{IMPORT}check/", one_import.check, name="check"),
    path(f"{IMPORT}start/", one_import.start, name="start"),
    path(f"{IMPORT}discard/", one_import.discard, name="discard"),
    path(f"{IMPORT}leave-out/", one_import.leave_out_refused, name="leave-out"),
    path(f"{IMPORT}undo/", one_import.undo_import, name="undo"),
    path(f"{IMPORT}files/<int:file_id>/", one_import.file, name="file"),
]
