"""The files of fixtures/formats, each with the formats that it may have."""

from pathlib import Path

from grading.formats import registry

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def sample_files() -> list[Path]:
    return sorted(
        path for folder in (FOLDER, FOLDER / "banks") for path in folder.iterdir() if path.is_file()
    )


SAMPLES = [(path, one.name) for path in sample_files() for one in registry.candidates(path)]
READ = [(path, name) for path, name in SAMPLES if registry.find(name).is_read]
"""Without those that are only written."""
