"""Releases: what a track publishes of a collection, as one zip that equal data always makes equal."""
