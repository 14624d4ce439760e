"""The completion script, run by a real shell."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from topicschema.cli.commands.completion import script

BASH = shutil.which("bash")
ZSH = shutil.which("zsh")


def completed(where: Path, *words: str) -> set[str]:
    """Return what bash offers for the last word."""
    assert BASH is not None
    program = (
        f'{script("bash")}\nCOMP_WORDS=(topicschema "$@"); COMP_CWORD=$#; _shtab_topicschema; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    line = [BASH, "-c", f"PATH=$PWD:$PATH; {program}", "-", *words]
    done = subprocess.run(line, cwd=where, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(BASH is None, reason="no bash on the path")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], {"check"}),
        (["check", "--str"], {"--strategy", "--strictness"}),
        (["check", "--strategy", "FULL"], {"FULL", "FULL_TRANSITIVE"}),
        (["check", "-o", ""], {"text", "json", "github", "junit"}),
        (["explain", "FIELD_WITHOUT"], {"FIELD_WITHOUT_DEFAULT"}),
        (["explain", "HistoryL"], {"HistoryLost"}),
        (["completion", "z"], {"zsh"}),
        (["decode", "--wr"], {"--writer"}),
        (["encode", "--type", "LOCAL_DATE_"], {"LOCAL_DATE_TIME"}),
        (["validate", "-o", "j"], {"json"}),
        (["check", "--history", "ord"], {"order.avsc"}),
        (["check", "ord"], {"order.avsc"}),
        (["check", "-I", "pro"], {"protos"}),
        (["can-connect", "producer", "--enf"], {"--enforced"}),
        (["why", "orders-c"], {"orders-created"}),
    ],
)
def test_commands_options_values_and_files_are_completed(tmp_path: Path, words: list[str], offered: set[str]) -> None:
    (tmp_path / "order.avsc").touch()
    (tmp_path / "protos").mkdir()
    (tmp_path / "prototype.txt").touch()
    (tmp_path / "kubectl").write_text("#!/bin/sh\necho orders-created users")
    (tmp_path / "kubectl").chmod(0o755)
    assert completed(tmp_path, *words) == offered


@pytest.mark.skipif(ZSH is None, reason="no zsh on the path")
def test_zsh_has_a_completion_once_the_script_is_sourced(tmp_path: Path) -> None:
    (tmp_path / "completion").write_text(script("zsh"))
    program = "source ./completion; print $_comps[topicschema]"
    done = subprocess.run([str(ZSH), "-f", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_shtab_topicschema\n", "")


def test_zsh_evaluates_its_script_where_it_is_sourced() -> None:
    before, evaluated = shlex.split(script("zsh"))[-2:]
    assert before == "eval"
    assert evaluated.startswith("#compdef topicschema\n")
    assert "FIELD_WITHOUT_DEFAULT" in evaluated
