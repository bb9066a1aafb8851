from django.urls import path

from rubricweb.systems import made, make

app_name = "systems"
MAKE = "collections/<slug:slug>/systems/"
MADE = f"{MAKE}<int:run_id>/"
urlpatterns = [
    path(MAKE, make.make, name="make"),
    path(MADE, made.made, name="made"),
    path(f"{MADE}rest/", made.make_rest, name="make-rest"),
]
