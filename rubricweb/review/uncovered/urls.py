from django.urls import path

from rubricweb.review.uncovered import views

OF_PASSAGE = "review/banks/<int:bank_id>/topics/<int:topic_id>/uncovered/<int:passage_id>/"
urlpatterns = [
    path("review/banks/<int:bank_id>/uncovered/", views.uncovered, name="uncovered"),
    path(OF_PASSAGE, views.passage, name="uncovered-passage"),
    path(f"{OF_PASSAGE}nearest/", views.nearest, name="uncovered-nearest"),
]
