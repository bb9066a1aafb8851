"""Many cells at once, under their bank and topic."""

from django.urls import path

from rubricweb.review.bulk import views

urlpatterns = [
    path("review/banks/<int:bank_id>/topics/<int:topic_id>/bulk/", views.bulk, name="bulk"),
]
