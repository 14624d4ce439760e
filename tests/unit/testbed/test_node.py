"""What can be known of the node and the images without running either."""

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from testbed import images, node_door, node_images, node_packages, node_part, node_room, sources


def test_the_image_that_holds_pods_is_one_that_its_own_digests_agree_with(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"a program")

    with tarfile.open(node_images.pause(program, tmp_path)) as archive:
        files = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        read = {name: b"" if file is None else file.read() for name, file in files.items()}

    (named,) = json.loads(read["index.json"])["manifests"]
    assert named["annotations"]["io.containerd.image.name"] == node_images.PAUSE
    manifest = json.loads(read[_path(named["digest"])])
    with tarfile.open(fileobj=io.BytesIO(read[_path(manifest["layers"][0]["digest"])])) as layer:
        content = layer.extractfile("pause")
        assert content is not None
        assert content.read() == b"a program"
    assert json.loads(read[_path(manifest["config"]["digest"])])["config"]["Entrypoint"] == ["/pause"]


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def test_a_machine_that_lacks_all_is_told_the_packages_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOPICSCHEMA_TEST_KUBECONFIG", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(node_packages, "PLUGINS", (tmp_path,))

    node, image = node_part.why_absent(), images.why_absent()

    packages = "containerd runc iproute2 mount nftables util-linux containernetworking-plugins"
    assert node is not None
    assert f"apt-get install --no-install-recommends {packages}" in node
    assert image is not None
    assert "apt-get install --no-install-recommends buildah mmdebstrap" in image
    assert node_packages.missing(node_packages.BROKER) == ["default-jdk-headless", "maven"]


def test_only_the_packages_of_what_is_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in {*node_packages.NODE, *node_packages.IMAGES} - {"nft", "buildah"}:
        (tmp_path / program).touch(mode=0o755)
    (tmp_path / "bridge").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(node_packages, "PLUGINS", (Path("/nowhere"), tmp_path))

    assert node_packages.missing(node_packages.NODE) == ["nftables"]
    assert node_packages.missing(node_packages.IMAGES) == ["buildah"]


def test_ci_installs_each_package() -> None:
    script = (images.REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    listed = [*node_packages.NODE.values(), *node_packages.IMAGES.values(), *node_packages.BROKER.values()]
    assert {each for each in (*listed, "containernetworking-plugins") if each not in script} == {"mount"}  # is in all


def test_another_file_of_an_image_makes_another_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(images, "REPOSITORY", tmp_path)
    for name in ("images/operator/Dockerfile", "operator/topicschema/a.py", "requirements/runtime.txt", "LICENSE"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="ascii")
    first = images.image_key("operator")

    (tmp_path / "README.md").write_text("no part of it", encoding="ascii")
    assert images.image_key("operator") == first

    (tmp_path / "operator/topicschema/a.py").write_text("another", encoding="ascii")
    assert images.image_key("operator") != first


def test_the_version_of_the_images_is_the_projects() -> None:
    text = (images.REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.*)"$', text, re.MULTILINE)[1] == images.VERSION  # type: ignore[index]


def test_what_a_node_is_made_of_is_pinned_with_the_control_plane() -> None:
    kubernetes, _ = sources.node_recipes()
    assert kubernetes.module == sources.recipe().module
    assert kubernetes.linker_flags == sources.recipe().linker_flags


def test_a_port_that_another_has_opens_no_door() -> None:
    with node_door.listening("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        node_door.listening("127.0.0.1", taken.getsockname()[1])


def test_nothing_but_a_room_that_is_there_is_entered(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        node_room.enter(tmp_path)
    (tmp_path / node_room.FIRST).write_text("17", encoding="ascii")
    assert node_room.enter(tmp_path)[:3] == ("nsenter", "--target", "17")
