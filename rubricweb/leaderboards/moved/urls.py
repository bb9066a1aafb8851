from django.urls import path

from rubricweb.leaderboards.moved import views

urlpatterns = [path("<slug:slug>/moved/", views.moved, name="moved")]
