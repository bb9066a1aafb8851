from django.urls import path

from rubricweb.review.responses import views

urlpatterns = [
    path(
        "review/banks/<int:bank_id>/topics/<int:topic_id>/runs/<int:run_id>/", views.response, name="response"
    ),
]
