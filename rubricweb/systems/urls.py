from django.urls import path

from rubricweb.systems import made, make

app_name = "systems"
MAKE = "collections/<slug:slug>/systems/"
MADE = f"{MAKE}<int:run_id>/"
urlpatterns = [
    path(MAKE, make.make, name="make"),
    path(MADE, made.made, name="made"),
    path(f"{MADE}pause/", made.steer, {"verb": "pause"}, name="pause"),
    path(f"{MADE}resume/", made.steer, {"verb": "resume"}, name="resume"),
    path(f"{MADE}cancel/", made.steer, {"verb": "cancel"}, name="cancel"),
    path(f"{MADE}rest/", made.steer, {"verb": "rest"}, name="make-rest"),
]
