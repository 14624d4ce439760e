"""What documents name exists: pages, chapters, files, modules, constants, resources, metrics, versions."""

import json
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from topicschema import __version__, telemetry
from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALERTS = ROOT / "manifests" / "components" / "monitoring" / "monitoring.yaml"
SPECS: dict[str, Any] = {"NamespaceSchemaPolicy": NamespaceSchemaPolicySpec, "TopicSchema": TopicSchemaSpec}
_METRIC = re.compile(r"\btopicschema_[a-z_]+")
_SUFFIX = re.compile("_(bucket|count|sum)$")


def named(page: Path) -> str:
    """The page as tests are called by it."""
    return str(page.relative_to(ROOT))


def chapters(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_pages_and_chapters_that_are_there(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, chapter = target.partition("#")
        if "://" in path:
            continue
        led_to = page if not path else (page.parent / path).resolve()
        assert led_to.exists(), target
        assert not chapter or chapter in chapters(led_to), target


WRITTEN = [page for page in PAGES if page.name != "rules.md"]
_FOREIGN = ("src/", "google/protobuf/")
_FILE = re.compile(r"[\w./-]+/(?:[\w-]+\.(?:py|yaml|md|toml|json|proto|txt|binpb))?")
_DOTTED = re.compile(r"(?:topicschema|core|payload|judging|reconcile|storage|protoc)(?:\.\w+)+")


def in_backticks(page: Path, form: re.Pattern[str]) -> list[str]:
    """The words of that form that the page sets as code."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return [word for word in re.findall(r"`([^`\n]+)`", text) if form.fullmatch(word)]


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_files_that_a_page_names_exist(page: Path) -> None:
    for path in in_backticks(page, _FILE):
        roots = (ROOT, ROOT / "operator" / "topicschema", ROOT / "tests", page.parent)
        assert path.startswith(_FOREIGN) or any((root / path).exists() for root in roots), path


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_modules_and_functions_that_a_page_names_exist(page: Path) -> None:
    for name in in_backticks(page, _DOTTED):
        assert pkgutil.resolve_name(name if name.startswith("topicschema.") else f"topicschema.{name}"), name


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every resource of ours that a page or an example shows whole."""
    for page in PAGES:
        for block in re.findall(r"^ *```yaml\n(.*?)```", page.read_text(), re.DOTALL | re.MULTILINE):
            for document in yaml.safe_load_all(block.replace("...", "null")):
                if isinstance(document, dict) and "apiVersion" in document and document["kind"] in SPECS:
                    yield named(page), document
    for file in sorted((ROOT / "manifests" / "examples").glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            if document["kind"] in SPECS:
                yield named(file), document


@pytest.mark.parametrize(("where", "resource"), list(resources()))
def test_a_resource_that_is_shown_is_one_that_is_read(where: str, resource: dict[str, Any]) -> None:
    assert decode(SPECS[resource["kind"]], resource["spec"], "spec"), where


def declared() -> dict[str, set[str]]:
    """The declared metrics with their labels."""
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: {*metric._labelnames, "le"}
        for metric in telemetry.REGISTRY._collector_to_names
        if isinstance(metric, MetricWrapperBase)
        for family in metric.describe()
    }


def test_alerts_are_on_metrics_and_labels_that_there_are() -> None:
    known = declared()
    _, rules = yaml.safe_load_all(ALERTS.read_text())
    for rule in rules["spec"]["groups"][0]["rules"]:
        metrics = [_SUFFIX.sub("", each) for each in _METRIC.findall(rule["expr"])]
        assert metrics
        assert set(metrics) <= known.keys(), rule["alert"]
        labels = re.findall(r"\b(\w+)=~?\"", rule["expr"])
        labels += re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"])))
        labels += re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        assert set(labels) <= set.union(*(known[each] for each in metrics)), rule["alert"]


def test_the_manual_tells_of_every_metric_with_its_labels_and_of_none_that_is_not() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.partition("| metric | labels | alert when |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)`[^|]*\|([^|]*)\|", table, re.MULTILINE)
    told = {f"topicschema_{name}": {*re.findall(r"\w+", labels), "le"} for name, labels in rows}
    assert told == declared()


def test_program_package_and_chart_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((ROOT / "charts" / "topicschema" / "Chart.yaml").read_text())
    assert {project["version"], chart["version"], chart["appVersion"]} == {__version__}


def test_every_value_of_the_chart_is_one_that_its_schema_knows() -> None:
    chart = ROOT / "charts" / "topicschema"
    values = yaml.safe_load((chart / "values.yaml").read_text())
    schema = json.loads((chart / "values.schema.json").read_text())
    assert values.keys() | {"global"} == schema["properties"].keys()
    templates = "".join(each.read_text() for each in (chart / "templates").iterdir())
    for group, members in values.items():
        for name in members if isinstance(members, dict) else ():
            assert re.search(rf"\.{name}\b", templates), f"{group}.{name} is used nowhere"
