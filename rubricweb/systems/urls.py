from django.urls import path

from rubricweb.systems import views

app_name = "systems"
MAKE = "collections/<slug:slug>/systems/"
MADE = f"{MAKE}<int:run_id>/"
urlpatterns = [
    path(MAKE, views.make, name="make"),
    path(MADE, views.made, name="made"),
    path(f"{MADE}pause/", views.pause, name="pause"),
    path(f"{MADE}resume/", views.resume, name="resume"),
    path(f"{MADE}cancel/", views.cancel, name="cancel"),
    path(f"{MADE}rest/", views.make_rest, name="make-rest"),
    path(f"{MADE}limits/", views.limits, name="limits"),
]
