"""What a process of the product loads when it starts."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def web_process() -> list[str]:
    """What a web process prints that has loaded all: whether it froze what it had, and what can wait."""
    code = (
        "import gc, sys, rubricweb.asgi; print(gc.get_freeze_count() > len(gc.get_objects()));"
        "import rubricweb.urls;"
        "late = {'scipy.stats', 'torch', 'transformers', 'openai', 'autojudge_base', 'minima_llm', 'nltk'};"
        "print(late & set(sys.modules))"
    )
    return printed_by(code).splitlines()


def test_no_process_waits_for_a_library_that_it_may_never_need(web_process):
    """scipy.stats alone more than doubles the time until the web process answers."""
    assert web_process[1] == "set()"


def test_a_web_process_never_looks_through_what_it_has_loaded_for_garbage(web_process):
    assert web_process[0] == "True"


def test_who_reads_a_board_loads_no_queue():
    code = (
        "import sys, django; django.setup();"
        "import rubricweb.leaderboards.management.commands.leaderboard;"
        "print({'redis', 'rq', 'rapidfuzz', 'rubricweb.corpus.import_base'} & set(sys.modules))"
    )
    assert printed_by(code) == "set()"


def test_who_enqueues_grading_loads_no_other_kind_of_work():
    code = (
        "import sys, django; django.setup(); from rubricweb.grades.models import GradingJob, JobChunk;"
        "from rubricweb.jobs import kinds; job = GradingJob();"
        "print(kinds.kind_of(JobChunk(job=job)).name, kinds.kind_of_job(job).name,"
        "{'rubricweb.systems.actions', 'rubricweb.leaderboards.kind'} & set(sys.modules))"
    )
    assert printed_by(code) == "chunk chunk set()"


def test_torch_is_told_not_to_spin_by_every_process():
    """What libgomp itself says when it is loaded: later settings would not reach it."""
    torch = importlib.util.find_spec("torch")
    if torch is None:
        pytest.skip("no torch")
    (libgomp,) = Path(torch.origin).parent.glob("lib/libgomp*.so*")
    code = f"import ctypes; ctypes.CDLL({str(libgomp)!r})"  # as `import torch` does, which takes seconds more
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    shell = ["shell", "--no-imports", "--command", code]
    web = ["-c", f"import rubricweb.asgi; {code}"]
    for command in (["manage.py", *shell], ["-m", "rubricweb", "manage", *shell], web):
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            check=True,
            env=environment | {"OMP_DISPLAY_ENV": "true"},
        )
        assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def printed_by(code: str) -> str:
    """In a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
