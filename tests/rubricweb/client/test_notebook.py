"""The notebook of the documentation: the same as its section of the help, and it runs against a server."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.api.tokens import make_token
from rubricweb.corpus.models import Collection
from tests.rubricweb.jobs.workers import workers

pytestmark = pytest.mark.portable

ROOT = Path(__file__).resolve().parents[3]


def made_by_script():
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs/notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebook_is_its_section_of_the_help():
    script = made_by_script()
    section = script.section()
    assert script.NOTEBOOK.read_text(encoding="utf-8") == script.notebook(section)
    assert section.startswith("# From files to a leaderboard in Python\n")
    assert sum(cell["cell_type"] == "code" for cell in script.cells(section)) > 8


@pytest.fixture
def worker(transactional_db: None, database_url: str, redis_server, tmp_path: Path) -> Iterator[None]:
    """A living worker, gone before the database is emptied."""
    with workers(database_url, redis_server.url, tmp_path) as start:
        start()
        yield


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_runs(live_server, worker, collection: Collection, owner: User, monkeypatch, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    token = make_token(owner, name="notebook", scopes=Token.Scope, days=1)[1]
    monkeypatch.setenv("RUBRIC_URL", live_server.url)
    monkeypatch.setenv("RUBRIC_TOKEN", token)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(made_by_script().NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    printed = "".join(
        output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output
    )
    assert "12 cells" in printed
    assert "12 of 12" in printed
    assert "board.csv" in printed
    frames = json.dumps([output for cell in notebook.cells for output in cell.get("outputs", [])])
    assert "alpha" in frames
    assert collection.runs.count() == 2
