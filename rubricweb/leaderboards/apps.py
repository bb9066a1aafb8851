from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "rubricweb.leaderboards"
    label = "leaderboards"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.leaderboards.kind.BoardWatches")
        kinds.register_duty("rubricweb.leaderboards.kind.look")
