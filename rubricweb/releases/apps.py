from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "rubricweb.releases"
    label = "releases"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.releases.kind import Releases

        kinds.register(Releases())
