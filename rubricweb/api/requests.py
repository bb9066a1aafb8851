"""Bodies of requests up to a limit, and errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any

from django.conf import settings
from django.core import exceptions as django_exceptions
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import SkipFile
from django.http import Http404
from django.utils.datastructures import MultiValueDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import DataAndFiles, FileUploadParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from grading.errors import BadFormat
from rubricweb.accounts.actions import LastOrganizer
from rubricweb.banks.changes import BankError, EditConflict, OrderChanged
from rubricweb.campaigns.actions import QueueError
from rubricweb.core import errors
from rubricweb.core.forms import too_large
from rubricweb.grades.human_ratings import HumanGradeError, RatedMeanwhile
from rubricweb.imports.undo import CannotUndo
from rubricweb.leaderboards.board import BoardError
from rubricweb.review.flags.actions import FlagError, MovedMeanwhile
from rubricweb.submissions.actions import NotTaken
from rubricweb.systems.actions import TagTaken
from rubricweb.webhooks.actions import NotOn, TooMany

CONFLICTS = (OrderChanged, RatedMeanwhile, NotTaken, LastOrganizer, CannotUndo, TagTaken, NotOn, TooMany)
"""The request fits, but not what there is now."""
REFUSALS = (BankError, HumanGradeError, BoardError, FlagError, QueueError, BadFormat)


class RequestProblem(exceptions.APIException):
    """An error with members of its own."""

    def __init__(
        self, status: HTTPStatus, detail: str, *, wait: int | None = None, **members: object
    ) -> None:
        """Make a problem; `wait` is in how many seconds the request may be sent again."""
        super().__init__(detail)
        self.status_code = status
        self.wait = wait
        self.members = members


def problem_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the answer to an error that a request caused; None for a fault of ours."""
    problem = _as_problem(error)
    if problem is None:
        return None
    set_rollback()
    members = errors.problem(HTTPStatus(problem.status_code), "")
    members |= _detail(problem) | getattr(problem, "members", {})
    headers = {}
    if challenge := getattr(problem, "auth_header", ""):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(problem, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return Response(members, problem.status_code, headers=headers, content_type=errors.PROBLEM)


def _as_problem(error: Exception) -> exceptions.APIException | None:
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, Http404):
        return RequestProblem(HTTPStatus.NOT_FOUND, str(error) or "Nothing is at this address.")
    if isinstance(error, PermissionDenied):
        return RequestProblem(HTTPStatus.FORBIDDEN, str(error) or "You may not do this.")
    if limit := errors.limit_exceeded(error):
        return RequestProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)
    if isinstance(error, EditConflict):
        item = error.item
        now = {"version": item.version, "text": item.revision.text, "retired": item.is_retired}
        change = item.changes.select_related("revision").filter(number=error.seen).first()
        before = {"version": change.number, "text": change.revision.text} if change else None
        return RequestProblem(
            HTTPStatus.PRECONDITION_FAILED, str(error), seen=error.seen, before=before, now=now
        )
    if isinstance(error, MovedMeanwhile):
        since = [{"number": move.number, "verb": move.verb, "text": move.text} for move in error.since]
        return RequestProblem(HTTPStatus.PRECONDITION_FAILED, str(error), since=since)
    if isinstance(error, CONFLICTS):
        return RequestProblem(HTTPStatus.CONFLICT, str(error))
    if errors.is_disk_full(error):
        return RequestProblem(HTTPStatus.SERVICE_UNAVAILABLE, errors.DISK_FULL, wait=errors.RETRY_SECONDS)
    if isinstance(error, (*REFUSALS, django_exceptions.ValidationError)):
        return RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
    return None


def _detail(problem: exceptions.APIException) -> dict[str, object]:
    if isinstance(problem, ValidationError):
        return {"detail": "Some fields do not fit.", "errors": problem.detail}
    return {"detail": str(problem.detail)}


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
