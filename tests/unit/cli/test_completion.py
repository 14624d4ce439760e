"""The completion script, run by a real shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from topicschema.cli.completion import script

BASH = shutil.which("bash")


def completed(where: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    assert BASH is not None
    ask = (
        f'{script("bash")}\nCOMP_WORDS=(topicschema "$@"); COMP_CWORD=$#; _topicschema; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run([BASH, "-c", ask, "-", *words], cwd=where, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(BASH is None, reason="no bash on the path")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], {"check"}),
        (["check", "--str"], {"--strategy", "--strictness"}),
        (["check", "--strategy", "FULL"], {"FULL", "FULL_TRANSITIVE"}),
        (["check", "-o", ""], {"text", "json"}),
        (["explain", "FIELD_WITHOUT"], {"FIELD_WITHOUT_DEFAULT"}),
        (["completion", "z"], {"zsh"}),
        (["decode", "--wr"], {"--writer"}),
        (["encode", "--type", "LOCAL_DATE_"], {"LOCAL_DATE_TIME"}),
        (["validate", "-o", "j"], {"json"}),
        (["check", "--history", "ord"], {"order.avsc"}),
        (["check", "ord"], {"order.avsc"}),
    ],
)
def test_commands_options_values_and_files_are_completed(tmp_path: Path, words: list[str], offered: set[str]) -> None:
    (tmp_path / "order.avsc").touch()
    assert completed(tmp_path, *words) == offered


def test_zsh_takes_the_same_script_through_its_own_door() -> None:
    assert script("zsh").endswith(script("bash"))
    assert "bashcompinit" in script("zsh")
