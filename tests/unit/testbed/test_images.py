"""The images, without building one."""

import re
from pathlib import Path

import pytest

from testbed import images, paths


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
    text = (paths.REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.*)"$', text, re.MULTILINE)[1] == images.VERSION  # type: ignore[index]
