"""The house rules that no other tool checks."""

import ast
import importlib.metadata
import re
import tomllib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "operator").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
BANNED = ("util", "helper", "common", "manager", "processor")


def test_the_source_root_named_operator_is_no_package_and_hides_no_standard_module() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_no_module_or_folder_has_a_generic_name() -> None:
    names = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {name for name in names if any(word in name.split("_") for word in BANNED)} == set()


def test_no_two_modules_define_a_public_class_of_one_name() -> None:
    modules: dict[str, list[str]] = {}
    for path in (path for path in SOURCES if path.is_relative_to(ROOT / "operator") and "_pb2" not in path.name):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(str(path.relative_to(ROOT / "operator" / "topicschema")))
    # A model has the words of its format, and the API's types those of Kubernetes.
    of_models = {"Enum", "Field", "Kind"}
    assert {name: where for name, where in modules.items() if len(where) > 1 and name not in of_models} == {}


def test_no_test_mocks() -> None:
    offenders = [path for path in SOURCES if "unittest" + ".mock" in path.read_text()]
    assert offenders == []


def test_the_variables_of_tests_are_documented() -> None:
    variable = re.compile("TOPICSCHEMA_" + r"TEST_[A-Z_]*[A-Z]")
    documented = {
        name for page in ("README.md", "docs/testing.md") for name in variable.findall((ROOT / page).read_text())
    }
    assert {name for path in SOURCES for name in variable.findall(path.read_text())} == documented


def test_the_product_imports_each_package_that_it_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = [*project["dependencies"], *project["optional-dependencies"]["validation"]]
    imports = re.compile(r"""^ *(?:import|from) (\w+)|import_module\("(\w+)""", re.MULTILINE)
    product = [path for path in SOURCES if path.is_relative_to(ROOT / "operator")]
    modules = {name for path in product for pair in imports.findall(path.read_text()) for name in pair}
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
