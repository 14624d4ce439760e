"""`python -m topicschema.cli.fields_page crds docs/api.md`: write a table of each kind's fields into the page.

The page has a heading and examples in YAML for each kind. The examples of a field come from there.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

KINDS: Final = ("SchemaRegistry", "NamespaceSchemaPolicy", "TopicSchema")
_HEAD: Final = "| field | meaning | example |\n|---|---|---|\n"
_LONGEST: Final = 60


def with_tables(page: str, crds: Mapping[str, Json]) -> str:
    """Return the page with the current rows of all tables. `crds` are the CustomResourceDefinitions by kind.

    Raise ValueError if the page lacks a table, or an example of a field.
    """
    for kind in KINDS:
        section = re.search(rf"^## {kind}\n.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
        if section is None:
            raise ValueError(f"the page has no section {kind}")
        text = section[0]
        examples = [each for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) for each in _documents(block)]
        rows = "".join(_rows(crds[kind], examples))
        new, count = re.subn(rf"{re.escape(_HEAD)}(\|.*\n)*", lambda _, rows=rows: _HEAD + rows, text)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the section {kind} has {count} tables")
        page = page.replace(text, new)
    return page


def _documents(block: str) -> Iterator[Json]:
    yield from yaml.safe_load_all(block)


def _rows(crd: Json, examples: list[Json]) -> Iterator[str]:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for part in ("spec", "status"):
        for place, field, is_required in _fields(schema["properties"].get(part, {}), part):
            note = " Required." if is_required else ""
            example = "" if field.get("properties") or _items(field).get("properties") else _example(place, examples)
            yield f"| `{place}` | {field['description'].replace('|', chr(92) + '|')}{note} | {example} |\n"


def _items(field: Json) -> Json:
    items: Json = field.get("items", {})
    return items


def _fields(schema: Json, path: str) -> Iterator[tuple[str, Json, bool]]:
    """Yield path and schema of each field below `schema`, and True if its parent requires it."""
    for name, field in schema.get("properties", {}).items():
        if name == "conditions":  # those of Kubernetes
            continue
        is_list = "properties" in _items(field)
        place = f"{path}.{name}{'[]' if is_list else ''}"
        yield place, field, name in schema.get("required", ())
        yield from _fields(_items(field) if is_list else field, place)


def _example(place: str, examples: list[Json]) -> str:
    """Return the first value at the place in the examples, in JSON and shortened."""
    for each in examples:
        for value in _values(each, place.split(".")):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            line = " ".join(text.split()).replace("|", "\\|")
            return f"`{line if len(line) <= _LONGEST else line[:_LONGEST] + '…'}`"
    raise ValueError(f"the examples have no {place}")


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0].endswith("[]"):
        for item in value.get(path[0][:-2], ()):
            yield from _values(item, path[1:])
    elif path[0] in value:
        yield from _values(value[path[0]], path[1:])


def read_crds(folder: Path) -> dict[str, Json]:
    """Return the CustomResourceDefinitions of a folder by kind."""
    crds = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml")))
    return {crd["spec"]["names"]["kind"]: crd for crd in crds}


if __name__ == "__main__":
    target = Path(sys.argv[2])
    written = with_tables(target.read_text(encoding="utf-8"), read_crds(Path(sys.argv[1])))
    target.write_text(written, encoding="utf-8")
