from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "rubricweb.leaderboards"
    label = "leaderboards"
