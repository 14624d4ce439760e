"""CustomChecker plug-ins in real distributions, loaded by a process of their own."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ACME = Path(__file__).parents[1] / "plugins" / "acme"
ORDER, ITEM, LONGER = (
    json.dumps({"type": "record", "name": name, "fields": [{"name": "id", "type": "long"}, *more]})
    for name, more in (("Order", []), ("Item", []), ("Order", [{"name": "note", "type": "string", "default": ""}]))
)
CHECKER = "class C:\n    def incompatibilities(self, candidate, earlier, strategy):\n        {}\n"


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and install the plug-in of tests/plugins/acme, as a user does."""
    source = shutil.copytree(ACME, tmp_path_factory.mktemp("source") / "acme")
    target = tmp_path_factory.mktemp("target")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options, str(source)]
    subprocess.run(pip, check=True, capture_output=True)
    return target


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("order", ORDER), ("item", ITEM), ("longer", LONGER)):
        (tmp_path / f"{name}.avsc").write_text(text)
    return tmp_path


def run(plugins: Path, folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(plugins), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "topicschema", *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, check=False, timeout=60
    )


def check(plugins: Path, files: Path, candidate: str = "item", *more: str) -> subprocess.CompletedProcess[str]:
    history = ["--history", "order.avsc", f"{candidate}.avsc"]
    return run(plugins, files, "check", "--type", "PROTOBUF", "--strategy", "BACKWARD", *more, *history)


def distribution(folder: Path, source: str, name: str = "PROTOBUF", package: str = "odd") -> Path:
    """Write an installed distribution with one module and one entry point."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[topicschema.checkers]\n{name} = {package}:C\n")
    (folder / f"{package}.py").write_text(source)
    return folder


def test_an_installed_checker_replaces_the_built_in_one(acme: Path, files: Path) -> None:
    done = check(acme, files)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ACME_RECORD_NAME at $.name" in done.stdout
    assert "(acme_checkers:RecordNames of acme-checkers 1.2.0)" in " ".join(done.stdout.split())
    assert "BACKWARD: consumers with the candidate must read messages of version 0" in done.stdout
    assert check(acme, files, "longer").returncode == 0
    assert check(files, files).returncode == 0


def test_an_installed_checker_checks_a_batch(acme: Path, files: Path) -> None:
    entry = {"type": "PROTOBUF", "strategy": "FORWARD", "history": [{"schema": ORDER}], "candidate": {"schema": ITEM}}
    lines = [json.dumps({**entry, "step": step}) for step in ("register", "compatibility")]
    done = run(acme, files, "check", "--batch", stdin="\n".join(lines))
    for answer in map(json.loads, done.stdout.splitlines()):
        assert (answer["compatible"], [each["rule"] for each in answer["incompatibilities"]]) == (
            False,
            ["ACME_RECORD_NAME"],
        )


def test_an_installed_checker_checks_a_connecting_client(acme: Path, files: Path) -> None:
    arguments = ["can-connect", "producer", "--type", "PROTOBUF", "--history", "order.avsc", "item.avsc"]
    done = run(acme, files, *arguments)
    assert (done.returncode, "ACME_RECORD_NAME" in done.stdout) == (1, True)
    assert run(files, files, *arguments).returncode == 0


def test_explain_names_an_installed_checker(acme: Path, files: Path) -> None:
    assert "acme_checkers:RecordNames of acme-checkers 1.2.0" in run(acme, files, "explain").stdout
    done = run(acme, files, "explain", "ACME_RECORD_NAME")
    assert (done.returncode, "see acme_checkers:RecordNames of acme-checkers 1.2.0" in done.stderr) == (2, True)
    assert "plugged" not in run(files, files, "explain", "TYPE_CHANGED").stdout


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise OSError('no network')", "raised OSError: no network"),
        ("return None", "raised TypeError"),
        ("import sys; sys.exit(0)", "raised SystemExit: 0"),
        ("return self.incompatibilities(candidate, earlier, strategy)", "raised RecursionError"),
    ],
)
def test_a_checker_that_fails_is_incompatible(tmp_path: Path, files: Path, body: str, message: str) -> None:
    done = check(distribution(tmp_path / "odd", CHECKER.format(body)), files)
    assert (done.returncode, done.stderr) == (1, "")
    assert "CHECKER_FAILED at $" in done.stdout
    assert message in " ".join(done.stdout.split())


SOUND = CHECKER.format("return []")
UNUSABLE = {
    "a type in small letters": ("protobuf", SOUND, "'protobuf' is no type that schemas have"),
    "a type that is never stored": ("AUTO_CONSUME", SOUND, "'AUTO_CONSUME' is no type that schemas have"),
    "a module that cannot be imported": ("AVRO", "import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
    "a module without the object": ("AVRO", "D = 1", "AttributeError: "),
    "an object without the method": ("AVRO", "C = 1", "odd:C has no method `incompatibilities`"),
    "a class that wants arguments": ("AVRO", "class C:\n    def __init__(self, x): ...", "TypeError: "),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_checker_prevents_the_start(tmp_path: Path, files: Path, case: str) -> None:
    name, source, message = UNUSABLE[case]
    plugins = distribution(tmp_path / "odd", source, name)
    done = run(plugins, files, "check", "order.avsc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("topicschema check: the checker odd:C of odd 1.0 cannot be used: ")
    assert message in done.stderr


@pytest.mark.parametrize("command", ["check --batch", "explain", "webhook", "controller"])
def test_an_unusable_checker_prevents_the_start_of_every_command(tmp_path: Path, files: Path, command: str) -> None:
    plugins = distribution(tmp_path / "odd", SOUND, "AVRO2")
    done = run(plugins, files, *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "the checker odd:C of odd 1.0 cannot be used: 'AVRO2' is no type" in done.stderr


def test_two_checkers_of_one_type_prevent_the_start(tmp_path: Path, files: Path) -> None:
    for package in ("odd", "even"):
        distribution(tmp_path / "both", SOUND, package=package)
    done = run(tmp_path / "both", files, "check", "order.avsc")
    assert (done.returncode, "two checkers of PROTOBUF are plugged in" in done.stderr) == (2, True)


def test_a_checker_in_an_archive_is_loaded(tmp_path: Path, files: Path) -> None:
    plugins = distribution(tmp_path / "odd", CHECKER.format("raise ValueError"))
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for each in plugins.rglob("*"):
            zipped.write(each, each.relative_to(plugins))
    assert "CHECKER_FAILED" in check(archive, files).stdout


def test_the_document_shows_the_source_of_the_installed_checker() -> None:
    page = (ACME.parents[2] / "docs" / "checkers.md").read_text(encoding="utf-8")
    source = (ACME / "acme_checkers.py").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0].strip()
    assert shown in source
    assert page.split("```toml\n")[1].split("```")[0].strip() in (ACME / "pyproject.toml").read_text(encoding="utf-8")


def test_without_a_checker_metadata_is_not_imported(files: Path) -> None:
    program = (
        "import sys; from topicschema import checkers; print(len(checkers.load()), 'importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=files, capture_output=True, text=True, check=True)
    assert done.stdout == "0 False\n"
