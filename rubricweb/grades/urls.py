from django.urls import path  # noqa: F401

app_name = "grades"
urlpatterns: list[object] = []
