from django.urls import path

from rubricweb.releases import views
from rubricweb.releases.share import share

ROOM = "collections/<slug:slug>/releases/"

app_name = "releases"
urlpatterns = [
    path("collections/<slug:slug>/share/", share, name="share"),
    path(f"{ROOM}<int:release_id>/", views.release, name="release"),
    path(f"{ROOM}<int:release_id>/file/", views.release_file, name="file"),
    path(f"{ROOM}<int:release_id>/names/", views.release_names, name="names"),
    path(f"{ROOM}<int:release_id>/delete/", views.delete, name="delete"),
]
