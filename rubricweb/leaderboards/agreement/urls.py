from django.urls import path

from rubricweb.leaderboards.agreement import views

urlpatterns = [path("<slug:slug>/agreement/", views.agreement, name="agreement")]
