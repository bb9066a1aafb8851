"""`rubricweb migrate`: Django's command, without the system checks, which load every page."""

from django.core.management.commands import migrate


class Command(migrate.Command):
    requires_system_checks = ()
