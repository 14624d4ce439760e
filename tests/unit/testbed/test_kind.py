"""The image that a kind cluster starts from, and clusters that a killed run left."""

import io
from pathlib import Path

import pytest

from testbed import kind, kind_image, sources
from testbed.docker import Docker
from testbed.errors import SourceMissingError
from testbed.instances import Instance
from testbed.progress import Progress

_CLIENT = """#!/bin/sh
echo "$*" >> "$ASKED"
case "$1 $4" in
"image $HAS"*) echo an-id ;;
esac
case "$1" in pull) exit $PULLS ;; esac
"""


class _Client:
    """A client of Docker that has the images whose names begin so, and can pull or not."""

    def __init__(self, folder: Path, has: str = "nothing", *, pulls: bool = False) -> None:
        program = folder / "docker"
        program.write_text(_CLIENT, encoding="ascii")
        program.chmod(0o755)
        self._asked = folder / "asked"
        answers = {"ASKED": str(self._asked), "HAS": has, "PULLS": "0" if pulls else "1"}
        self.docker = Docker(program, answers)

    @property
    def pulled(self) -> bool:
        return any(line.startswith("pull") for line in self._asked.read_text(encoding="ascii").splitlines())


@pytest.fixture
def quiet() -> Progress:
    return Progress(io.StringIO())


@pytest.fixture(autouse=True)
def cache(cache_folder: Path) -> None:
    cache_folder.mkdir(parents=True)


def test_an_image_that_was_made_here_is_taken_and_nothing_pulled(tmp_path: Path, quiet: Progress) -> None:
    client = _Client(tmp_path, has="topicschema-node:")

    assert kind_image.ensure(client.docker, quiet).startswith("topicschema-node:")
    assert not client.pulled


def test_kinds_own_image_is_pulled_once(tmp_path: Path, quiet: Progress) -> None:
    client = _Client(tmp_path, pulls=True)
    assert kind_image.ensure(client.docker, quiet) == kind_image.PULLED
    assert client.pulled

    again = _Client(tmp_path, has="kindest/node:")
    (tmp_path / "asked").unlink()
    assert kind_image.ensure(again.docker, quiet) == kind_image.PULLED
    assert not again.pulled


def test_what_making_one_takes_is_told_where_none_can_be_pulled(
    tmp_path: Path, quiet: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setattr("testbed.packages.DEBIAN", {"no-such-program": "mmdebstrap"})

    with pytest.raises(SourceMissingError, match=r"cannot be pulled.*apt-get install .*mmdebstrap"):
        kind_image.ensure(_Client(tmp_path).docker, quiet)


def test_the_image_to_pull_is_of_the_line_of_kubernetes_that_is_pinned() -> None:
    assert sources.KINDEST.rpartition(".")[0] == f"v{sources.KUBERNETES.rpartition('.')[0]}"


def test_clusters_of_killed_instances_are_deleted_and_others_are_not(
    tmp_path: Path, quiet: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    listed = "topicschema-mine topicschema-killed somebodys"
    program = folder / "kind"
    program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/asked\necho {listed}\n', encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    instance = Instance.open("mine")
    try:
        found = kind.clusters(_Client(tmp_path).docker, quiet)
    finally:
        instance.end()

    assert found == ["topicschema-mine", "somebodys"]
    asked = (folder / "asked").read_text(encoding="ascii").splitlines()
    assert asked == ["get clusters", "delete cluster --name topicschema-killed"]
