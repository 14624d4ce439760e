"""Objects on standard output, as JSON or YAML."""

import json
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """A dumper that writes a text of several lines as a block."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def write(value: Any, form: str) -> None:
    """Print the value as `json` or `yaml`. Characters that a terminal could obey are escaped."""
    if form == "json":
        text = json.dumps(value, indent=2, ensure_ascii=False)
        print("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text))
    else:
        print(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000), end="")
