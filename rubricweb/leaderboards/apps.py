from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "rubricweb.leaderboards"
    label = "leaderboards"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.leaderboards.watch.kind import BoardWatches, look

        kinds.register(BoardWatches())
        kinds.register_duty(look)
