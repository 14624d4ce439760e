"""The house rules that no other tool holds."""

import ast
import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "operator").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
BANNED = ("util", "helper", "common", "manager", "processor")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements inside: to walk expressions, too, takes several times longer."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def functions(source: Path) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function, its docstring not counted."""
    for node in statements(ast.parse(source.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            yield node.name, (node.end_lineno or 0) - first.lineno + 1


def test_the_source_root_named_operator_is_no_package_or_the_standard_library_would_break() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_files_stay_short() -> None:
    lengths = {str(source.relative_to(ROOT)): len(source.read_text().splitlines()) for source in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_functions_stay_short() -> None:
    found = [(str(source.relative_to(ROOT)), *each) for source in SOURCES for each in functions(source)]
    assert [each for each in found if each[2] > MAX_FUNCTION_LINES] == []


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
