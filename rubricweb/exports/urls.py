from django.urls import path  # noqa: F401

app_name = "exports"
urlpatterns: list[object] = []
