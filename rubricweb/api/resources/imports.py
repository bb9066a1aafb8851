"""Imports: upload files, read what they would change, and have them imported. For organizers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import MAX_RATING
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, Upload, done_once, uploaded_once
from rubricweb.api.models import Token
from rubricweb.api.requests import NAME, PARSERS, RequestProblem, bodies, files_of
from rubricweb.api.resources import ListResource, Resource, documents, made, require_valid
from rubricweb.grades.import_grades import NAME_LIMIT
from rubricweb.imports import actions, contents, queries, undo, views
from rubricweb.imports.models import Import

WRITES = dict.fromkeys(("POST", "PATCH", "DELETE"), Token.Scope.ORGANIZE)


class ImportSerializer(serializers.Serializer[Import]):
    id = serializers.IntegerField(source="pk")
    step = serializers.ChoiceField(
        choices=Import.Step.choices, help_text="What the worker does, or did last."
    )
    state = serializers.ChoiceField(choices=Import.State.choices, help_text="Of that step.")
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    undone_at = serializers.DateTimeField(allow_null=True)


class ImportFileDocument(serializers.Serializer[queries.FileRow]):
    id = serializers.IntegerField(source="file.pk")
    name = serializers.CharField(source="file.name")
    size = serializers.IntegerField(source="file.size")
    state = serializers.CharField()
    format = serializers.CharField(source="file.format", help_text="Empty until it is recognised.")
    author = serializers.CharField(
        source="file.author",
        help_text="Who made what is in it, where the file does not say; empty for nobody.",
    )
    takes_author = serializers.BooleanField(help_text="The file does not say who made what is in it.")
    read = serializers.CharField(source="file.read", help_text="What is in it, counted.")
    problem = serializers.CharField()
    line = serializers.IntegerField(allow_null=True, help_text="Of the problem.")
    choices = serializers.ListField(
        source="file.fitting_formats", child=serializers.CharField(), help_text="Formats, of which to choose."
    )


class FileChange(serializers.Serializer[Any]):
    """What is not named stays as it is."""

    author = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=NAME_LIMIT,
        help_text="`people`, or the name of a grader; empty takes it back.",
    )
    format = serializers.ChoiceField(
        required=False,
        allow_blank=True,
        choices=[file_format.name for file_format in contents.takeable()],
        help_text="Empty: as its content says.",
    )
    is_left_out = serializers.BooleanField(required=False)


class CountDocument(serializers.Serializer[queries.CountRow]):
    kind = serializers.CharField(source="label")
    before = serializers.IntegerField(allow_null=True)
    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class ImportDocument(ImportSerializer):
    files = ImportFileDocument(many=True)
    counts = CountDocument(many=True, help_text="What the import did, or after a check would do.")
    notes = serializers.ListField(child=serializers.CharField())
    problem = serializers.CharField(help_text="Why the files cannot be imported together.")
    is_ready = serializers.BooleanField(help_text="It can be started as it was checked.")
    options = serializers.JSONField()


class UploadForm(serializers.Serializer[Any]):
    file = serializers.ListField(
        child=serializers.FileField(), help_text="Plain, gzip or zip; several at once."
    )


class OptionsDocument(serializers.Serializer[Any]):
    """What is not named stays as it is."""

    bank_name = serializers.CharField(required=False, max_length=80)
    judgments = serializers.CharField(required=False, allow_blank=True)
    min_relevant = serializers.IntegerField(required=False, allow_null=True, min_value=0)
    official_measure = serializers.CharField(required=False, allow_blank=True, max_length=60)
    passages_of = serializers.CharField(required=False)
    is_segmenting = serializers.BooleanField(required=False)
    candidates_run = serializers.CharField(required=False, allow_blank=True)
    scale = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MAX_RATING)
    after_prediction_of = serializers.CharField(required=False, allow_blank=True, max_length=200)
    replace = serializers.BooleanField(required=False)


class Imports(ListResource):
    """The imports of a collection. A POST uploads files and has them checked: 202."""

    upload: Upload
    serializer_class = ImportSerializer
    scopes = WRITES
    parser_classes = PARSERS

    def rows(self) -> QuerySet[Any]:
        return self.collection(needed=roles.TO_ORGANIZE).imports.all()

    @extend_schema(request=bodies(UploadForm), responses={202: ImportDocument}, parameters=[KEY, NAME])
    @uploaded_once
    def post(self, request: Request, slug: str) -> Response:
        """Upload files to import."""
        collection, uploads = self.collection(needed=roles.TO_ORGANIZE), files_of(request)
        batch = actions.begin_import(collection, by=self.person)
        self.upload.begin(batch)
        actions.add_files(batch, uploads)
        with transaction.atomic():
            batch = actions.start_check(batch)
            self.upload.make(batch)
        return _accepted(batch)

    def answer_made(self, key: int) -> Response:
        return _accepted(get_object_or_404(self.rows(), pk=key))

    def remove_begun(self, key: int) -> None:
        for batch in Import.objects.open().filter(pk=key).exclude(state__in=Import.LIVE):
            actions.discard(batch)


class OfImport(Resource):
    scopes = WRITES

    def batch(self) -> Import:
        slug = self.collection(needed=roles.TO_ORGANIZE).slug
        return queries.import_for(self.person, slug, self.kwargs["import_id"])


class ImportResource(OfImport):
    """One import in any state: files, counts, problems. A DELETE discards one that is not made."""

    @extend_schema(responses=ImportDocument)
    def get(self, request: Request, slug: str, import_id: int) -> Response:
        """Get an import in any state."""
        return Response(_document(self.batch()))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, import_id: int) -> Response:
        """Discard an import that has not begun."""
        batch = self.batch()
        if batch.is_live or batch.is_imported:
            raise RequestProblem(HTTPStatus.CONFLICT, "A worker has it, or has imported it.")
        actions.discard(batch)
        return Response(status=HTTPStatus.NO_CONTENT)


class ImportFileResource(OfImport):
    """One file of an import that is not made. A PATCH says what its content does not: 202, checked again."""

    @extend_schema(
        request=FileChange,
        responses={202: ImportDocument},
        parameters=[KEY],
        operation_id="imports_describe_file",
    )
    @done_once
    def patch(self, request: Request, slug: str, import_id: int, file_id: int) -> Response:
        """Name a file's author or format, or leave it out."""
        batch, fields = self.batch(), self.fields(FileChange)
        file = queries.file_for(self.person, batch.collection.slug, batch.pk, file_id)
        if batch.is_live or batch.is_imported or not file.is_kept:
            raise RequestProblem(HTTPStatus.CONFLICT, "A worker has it, or has imported it.")
        if "author" in fields:
            actions.name_author(file, " ".join(fields["author"].split()))
        if "format" in fields:
            actions.choose_format(file, fields["format"])
        if "is_left_out" in fields:
            (actions.leave_out if fields["is_left_out"] else actions.take_in)(file)
        return _accepted(self.batch())


class ImportCheck(OfImport):
    """Check the files again, with the options sent: 202."""

    @extend_schema(
        request=OptionsDocument,
        responses={202: ImportDocument},
        parameters=[KEY],
        operation_id="imports_check",
    )
    @done_once
    def post(self, request: Request, slug: str, import_id: int) -> Response:
        """Check the files again."""
        batch, fields = self.batch(), self.fields(OptionsDocument)
        form = views.OptionsForm(contents.ImportOptions.of(batch).as_json() | fields)
        require_valid(form)
        return _accepted(actions.start_check(batch, form.options()))


class ImportStart(OfImport):
    """Import what was checked: 202. What cannot be imported as it is: 409."""

    @extend_schema(
        request=None, responses={202: ImportDocument}, parameters=[KEY], operation_id="imports_start"
    )
    @done_once
    def post(self, request: Request, slug: str, import_id: int) -> Response:
        """Import what was checked."""
        batch = self.batch()
        if not queries.batch_of(batch).is_ready:
            raise RequestProblem(HTTPStatus.CONFLICT, "These files cannot be imported as they are.")
        return _accepted(actions.start_import(batch))


class ImportUndo(OfImport):
    """Remove what the import added, if nothing was built on it: 200 where it is gone, 202 for much."""

    @extend_schema(
        request=None,
        responses={200: ImportDocument, 202: ImportDocument},
        parameters=[KEY],
        operation_id="imports_undo",
    )
    @done_once
    def post(self, request: Request, slug: str, import_id: int) -> Response:
        """Undo an import."""
        batch = self.batch()
        if undo.is_large(batch) and not undo.why_not(batch):
            return _accepted(actions.start_undo(batch, by=self.person))
        undo.undo_import(batch, by=self.person)
        return Response(_document(self.batch()))


def _accepted(batch: Import) -> Response:
    return made(_document(batch), HTTPStatus.ACCEPTED, "import", batch.collection.slug, batch.pk)


def _document(batch: Import) -> dict[str, Any]:
    listed: queries.Batch = queries.batch_of(batch)
    return {
        **ImportSerializer(batch).data,
        "files": documents(ImportFileDocument, listed.files),
        "counts": documents(CountDocument, listed.counts),
        "notes": listed.notes,
        "problem": listed.problem,
        "is_ready": listed.is_ready,
        "options": batch.options,
    }
