"""Live events of a collection: names without data, upon which a script asks again."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from rubricweb.api.base import AnyMedia, Resource
from rubricweb.core import streams
from rubricweb.corpus.settings import seconds

SINCE = OpenApiParameter(
    "since",
    float,
    description="Unix time: without an event since then, the stream does not begin with `missed`.",
)


class Events(Resource):
    """Server-sent events of the collection, until you close the connection.

    Their names: `items`, `grades`, `progress` (of a job), `runs`, `flags`, `ratings`, `campaigns`, `votes`,
    and `missed`, where there may have been others before. They carry no data: ask for what you want to know.
    """

    renderer_classes = (AnyMedia,)

    @extend_schema(parameters=[SINCE], responses={(200, "text/event-stream"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Follow what changes in a collection."""
        since = seconds(request.query_params.get("since", ""))
        return streams.stream(self.collection().channel, since=since)
