from django.urls import path

from rubricweb.review.overview import views

urlpatterns = [path("review/<slug:slug>/", views.overview, name="overview")]
