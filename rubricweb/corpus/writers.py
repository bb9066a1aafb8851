"""The model of a job that writes for a collection, within the limits of the job."""

from __future__ import annotations

from grading.graders.backend_options import Thinking
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import Writer, options_of_writer
from rubricweb.jobs.models import LimitedJob
from rubricweb.jobs.steering import LimitedModel, limited_model


def limited_writer(
    job: LimitedJob, collection: Collection, writer: Writer, *, longest_reply: int
) -> LimitedModel:
    """Return the writer, loaded, with the options that the collection's Settings give it.

    A reply may have `longest_reply` tokens, or more where the Settings allow more. Raises CannotRun.
    """
    options = options_of_writer(collection, writer.backend, writer.llm)
    return limited_model(
        job,
        backend=writer.backend,
        llm=writer.llm,
        longest_reply=max(longest_reply, int(options.get("max_new_tokens", 0))),
        thinking=Thinking.of(options),
    )
