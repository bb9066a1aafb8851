"""`rubricweb migrate`: Django's command, without the system checks that load every page."""

from django.core.checks import Tags
from django.core.management.commands import migrate

from rubricweb.core.reader import OperatorCommand


class Command(OperatorCommand, migrate.Command):
    requires_system_checks = (Tags.database,)
