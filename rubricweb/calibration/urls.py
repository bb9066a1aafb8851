from django.urls import path

from rubricweb.calibration import views

app_name = "calibration"
urlpatterns = [
    path("<slug:slug>/make/", views.make, name="make"),
    path("<slug:slug>/cards/<int:card_id>/file/", views.card_file, name="card-file"),
    path("<slug:slug>/cards/<int:card_id>/badge/", views.badge, name="badge"),
]
