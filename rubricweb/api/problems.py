"""Errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from grading.errors import BadFormat
from rubricweb.accounts.actions import LastOrganizer
from rubricweb.banks.changes import BankError, Conflict, OrderChanged
from rubricweb.campaigns.errors import QueueError
from rubricweb.core import errors
from rubricweb.grades.human_ratings import HumanGradeError, RatedMeanwhile
from rubricweb.imports.undo import CannotUndo
from rubricweb.leaderboards.board.types import BoardError
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
    return Response(members, problem.status_code, headers=_headers(problem), content_type=errors.PROBLEM)


def _as_problem(error: Exception) -> exceptions.APIException | None:
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, Http404):
        return RequestProblem(HTTPStatus.NOT_FOUND, str(error) or "Nothing is at this address.")
    if isinstance(error, PermissionDenied):
        return RequestProblem(HTTPStatus.FORBIDDEN, str(error) or "You may not do this.")
    if limit := errors.limit_exceeded(error):
        return RequestProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)
    if isinstance(error, Conflict):
        return changed_meanwhile(error)
    if isinstance(error, MovedMeanwhile):
        return moved_meanwhile(error)
    if isinstance(error, CONFLICTS):
        return RequestProblem(HTTPStatus.CONFLICT, str(error))
    if errors.is_disk_full(error):
        return RequestProblem(HTTPStatus.SERVICE_UNAVAILABLE, errors.DISK_FULL, wait=errors.RETRY_SECONDS)
    if isinstance(error, (*REFUSALS, ValidationError)):
        return RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
    return None


def changed_meanwhile(conflict: Conflict) -> RequestProblem:
    """Return 412 with the item as the writer has seen it (`before`), and as it is (`now`)."""
    item = conflict.item
    now = {"version": item.version, "text": item.revision.text, "retired": item.is_retired}
    change = item.changes.select_related("revision").filter(number=conflict.seen).first()
    before = {"version": change.number, "text": change.revision.text} if change else None
    return RequestProblem(
        HTTPStatus.PRECONDITION_FAILED, str(conflict), seen=conflict.seen, before=before, now=now
    )


def moved_meanwhile(moved: MovedMeanwhile) -> RequestProblem:
    """Return 412 with what others did to the flag since."""
    since = [{"number": change.number, "verb": change.verb, "text": change.text} for change in moved.since]
    return RequestProblem(HTTPStatus.PRECONDITION_FAILED, str(moved), since=since)


def _detail(problem: exceptions.APIException) -> dict[str, object]:
    if isinstance(problem, exceptions.ValidationError):
        return {"detail": "Some fields do not fit.", "errors": problem.detail}
    return {"detail": str(problem.detail)}


def _headers(problem: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(problem, "auth_header", ""):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(problem, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers
