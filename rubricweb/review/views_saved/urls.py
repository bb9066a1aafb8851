"""Named views, under their collection."""

from django.urls import path

from rubricweb.review.views_saved import views

urlpatterns = [
    path("review/<slug:slug>/views/", views.save, name="view-save"),
    path("review/<slug:slug>/views/<int:view_id>/drop/", views.drop, name="view-drop"),
]
