"""A real, very small language model labels citations, and is asked again where it names no label."""

import pytest

from grading.support import JudgedCitations, label_of, support_prompt
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.models import Job
from rubricweb.support import actions
from rubricweb.support.labels import failed
from rubricweb.support.models import SupportLabel
from tests.grading import smollm2
from tests.rubricweb.support.test_asking import work

pytestmark = pytest.mark.models


def test_it_labels_each_citation_or_its_reply_is_kept_as_failed(sea, owner):
    asking = actions.Asking("hf_causal", str(smollm2.folder()), JudgedCitations.ALL)
    job = work(actions.start(sea, asking, limits=Limits(99), by=owner))
    assert (job.state, job.error, job.calls, SupportLabel.objects.count()) == (Job.State.DONE, "", 4, 4)
    for label in SupportLabel.objects.all():
        assert label.reply
        assert label.label == label_of(label.reply, support_prompt())
    lost = len(failed(sea, job.judge))
    assert lost == sum(chunk.failed for chunk in job.chunks.all())
    if lost:
        again = work(actions.retry_failed(job, limits=Limits(99), by=owner))
        assert (again.state, again.calls, SupportLabel.objects.count()) == (Job.State.DONE, lost, 4)
