from django.urls import path

from rubricweb.jobs import views

app_name = "jobs"
urlpatterns = [path("healthz", views.healthz, name="healthz")]
