"""Bodies: JSON up to a limit, a file as it is, or a form with files as browsers send it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import SkipFile
from django.utils.datastructures import MultiValueDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import DataAndFiles, FileUploadParser, JSONParser, MultiPartParser
from rest_framework.request import Request

from rubricweb.api.problems import RequestProblem
from rubricweb.core.forms import too_large

DEEPEST = 100
"""Lists and objects in one another. No resource takes so many."""
FIELD = "file"
UNNAMED = "upload"
NAME = OpenApiParameter("name", OpenApiTypes.STR, description="The name of the file that is the body.")


class JsonBody(JSONParser):
    """JSON, read into memory: as large as a form without files may be, and not nested without end."""

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the parsed body. Raises RequestDataTooBig (413) and ParseError (400)."""
        length = int(parser_context["request"].META.get("CONTENT_LENGTH") or 0)
        if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        try:
            body = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise _too_deep() from error
        level: list[object] = [body]
        for _ in range(DEEPEST):
            level = [part for value in level for part in _parts(value)]
        if level:
            raise _too_deep()
        return body


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> ParseError:
    return ParseError(f"JSON parse error: lists and objects are nested more than {DEEPEST} deep.")


class FileBody(FileUploadParser):
    """The body is the file; its name and what else there is to say stand in the address."""

    media_type = "application/octet-stream"

    def get_filename(self, stream: object, media_type: object, parser_context: Mapping[str, Any]) -> str:
        return parser_context["request"].GET.get("name", "") or UNNAMED

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            parsed = super().parse(stream, media_type, parser_context)
            return DataAndFiles({}, MultiValueDict({FIELD: [parsed.files[FIELD]]}))
        except SkipFile as error:
            raise RequestProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The file is too large.") from error


class TextBody(FileBody):
    """Of a TREC run, or of qrels."""

    media_type = "text/plain"


class LinesBody(FileBody):
    """Of responses and other JSON Lines."""

    media_type = "application/x-ndjson"


PARSERS = (MultiPartParser, FileBody, TextBody, LinesBody)


def bodies(form: Any) -> dict[str, Any]:
    """Return what the schema says of a request: `form` as a multipart form, or the file as its body."""
    files = [parser.media_type for parser in PARSERS if issubclass(parser, FileBody)]
    return {"multipart/form-data": form} | dict.fromkeys(files, OpenApiTypes.BINARY)


def described(request: Request) -> Any:
    """Return what the request says beside its files: the fields of the form, or those of the address."""
    is_form = request.content_type.startswith(MultiPartParser.media_type)
    return request.data if is_form else request.query_params


def files_of(request: Request) -> list[UploadedFile[bytes]]:
    """Return the files that were sent. Raises ValidationError without any, RequestProblem (413)."""
    uploaded: MultiValueDict[str, Any] = request.FILES  # reads the body
    if names := too_large(request._request):
        text = f"Too large: {', '.join(names)}."
        raise RequestProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
    if not (files := uploaded.getlist(FIELD)):
        raise ValidationError({FIELD: ["Send a file."]})
    return files
