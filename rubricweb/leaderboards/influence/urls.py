from django.urls import path

from rubricweb.leaderboards.influence import views

urlpatterns = [path("<slug:slug>/influence/", views.influence, name="influence")]
