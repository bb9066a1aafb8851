"""Agreement, under /review/."""

from django.urls import path

from rubricweb.campaigns.agreement import views

urlpatterns = [path("review/<slug:slug>/agreement/", views.agreement, name="agreement")]
