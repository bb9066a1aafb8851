from django.urls import path

from rubricweb.releases import share

ROOM = "collections/<slug:slug>/releases/"

app_name = "releases"
urlpatterns = [
    path(ROOM, share.share, name="share"),
    path(f"{ROOM}<int:release_id>/", share.release, name="release"),
    path(f"{ROOM}<int:release_id>/file/", share.release_file, name="file"),
    path(f"{ROOM}<int:release_id>/names/", share.release_names, name="names"),
    path(f"{ROOM}<int:release_id>/delete/", share.delete, name="delete"),
]
