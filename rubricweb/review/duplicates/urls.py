from django.urls import path

from rubricweb.review.duplicates import views

urlpatterns = [
    path("review/<slug:slug>/near-duplicates/", views.duplicates, name="duplicates"),
    path("review/<slug:slug>/near-duplicates/search/", views.duplicates_search, name="duplicates-search"),
]
