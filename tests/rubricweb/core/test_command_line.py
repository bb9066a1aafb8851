"""What `rubricweb`, the command, answers."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands

from rubricweb import __main__ as command_line, __version__

ROOT = Path(__file__).resolve().parents[3]
VERBS = [verb for verbs in command_line.VERBS.values() for verb in verbs]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rubricweb", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_overview_has_every_command_of_ours_once_and_none_of_django():
    ours = sorted(name for name, app in get_commands().items() if app.startswith("rubricweb"))
    assert sorted(VERBS) == sorted([*ours, "gate"])


def test_help_lists_verbs_by_what_people_do():
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout == run().stdout == command_line.overview() + "\n"
    headings = [line.removesuffix(":") for line in done.stdout.splitlines() if line.endswith(":")]
    assert headings == list(command_line.VERBS)


def test_documentation_lists_the_same_verbs():
    text = (ROOT / "docs/help/commands.md").read_text(encoding="utf-8")
    table = text.partition("| command | does |")[2].partition("\n\n")[0]
    documented = [line.split("`")[1].split()[0] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(documented) == sorted(VERBS)


def test_version_is_ours():
    assert run("--version").stdout.strip() == __version__
    assert run("graders", "--version").stdout.strip() == __version__


def test_command_of_django_stands_behind_manage():
    refused = run("collectstatic")
    assert refused.returncode == 1
    assert "`rubricweb manage collectstatic`" in refused.stderr
    assert run("manage", "collectstatic", "--help").stdout.startswith("usage: rubricweb manage collectstatic")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion_knows_verbs_and_their_options(shell, capsys):
    command_line.run(["completion", shell])
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)
    assert "bank-version" in script


def test_completion_refuses_a_shell_that_has_none():
    with pytest.raises(SystemExit, match="not for 'cmd'"):
        command_line.run(["completion", "cmd"])


def test_bash_completes_a_verb_and_a_choice(tmp_path, capsys):
    command_line.run(["completion", "bash"])
    (tmp_path / "complete.bash").write_text(capsys.readouterr().out, encoding="utf-8")
    typed = (["rubricweb", "export_q"], ["rubricweb", "export_bank", "--dialect", "nugg"])
    lines = [
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        '_shtab_rubricweb; echo "${COMPREPLY[@]}"'
        for words in typed
    ]
    script = "\n".join([f"source {tmp_path / 'complete.bash'}", *lines])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["export_qrels", "nuggetizer"]
