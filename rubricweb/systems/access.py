"""Fetch and authorise in one call: an outsider gets 404, too little role 403."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.access import collection_for
from rubricweb.systems.models import SystemJob


def job_for(user: User, slug: str, run_id: int, *, needed: Role = roles.TO_SEE_RUNS) -> SystemJob:
    """Return how the run was made; 404 for a run that came from elsewhere."""
    collection = collection_for(user, slug, needed=needed)
    jobs = collection.system_jobs.select_related("collection", "run", "by")
    job: SystemJob = get_object_or_404(jobs, run=run_id)
    return job
