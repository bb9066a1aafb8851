from django.urls import path  # noqa: F401

app_name = "banks"
urlpatterns: list[object] = []
