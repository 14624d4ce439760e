"""The house rules that no other tool holds."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "operator").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
BANNED = ("util", "helper", "common", "manager", "processor")


def test_the_source_root_named_operator_is_no_package_or_the_standard_library_would_break() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_no_module_or_folder_has_a_name_that_says_nothing() -> None:
    names = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {name for name in names if any(word in name.split("_") for word in BANNED)} == set()


def test_nobody_mocks() -> None:
    offenders = [path for path in SOURCES if "unittest" + ".mock" in path.read_text()]
    assert offenders == []


def test_what_a_test_can_be_told_stands_in_a_document() -> None:
    variable = re.compile("TOPICSCHEMA_" + r"TEST_[A-Z_]*[A-Z]")
    told = {name for page in ("README.md", "docs/testing.md") for name in variable.findall((ROOT / page).read_text())}
    assert {name for path in SOURCES for name in variable.findall(path.read_text())} == told


def test_the_product_imports_each_package_that_it_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = [*project["dependencies"], *project["optional-dependencies"]["validation"]]
    found = re.compile(r"""^ *(?:import|from) (\w+)|import_module\("(\w+)""", re.MULTILINE)
    product = [path for path in SOURCES if path.is_relative_to(ROOT / "operator")]
    modules = {name for path in product for pair in found.findall(path.read_text()) for name in pair}
    packages = {
        package.lower().replace("_", "-")
        for module, packages in importlib.metadata.packages_distributions().items()
        if module in modules
        for package in packages
    }
    assert {re.split("[<>=]", each)[0] for each in installed} - packages == set()


def test_the_wheel_has_every_file_of_the_package() -> None:
    packed = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    source = ROOT / "operator"
    files = {str(path.relative_to(source)) for path in (source / "topicschema").rglob("*.*") if path.is_file()}
    assert "topicschema/cli/rules/avro.yaml" in packed
    assert {each for each in files if "__pycache__" not in each} <= packed
