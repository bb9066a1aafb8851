from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "rubricweb.releases"
    label = "releases"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.releases.kind.Releases")
        listing.register("rubricweb.releases.kind.LISTING")
