"""YAML as kubectl, Helm, Flux and Argo CD read it: by the rules of go-yaml v2, as in sigs.k8s.io/yaml.

PyYAML's own rules differ: for it `y`, `08` and `1e3` are texts, and `12:30:45` is a number. Here a doubled member of a
mapping is an error, where kubectl silently takes one of the two.
"""

import math
import re
import struct
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 1_000
_MAX_ALIASED: Final = 400_000
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, of which go-yaml is a translation
_PARTS: Final = (yaml.NodeEvent, yaml.CollectionEndEvent)
_FORBIDDEN: Final = re.compile(  # readers differ on a byte order mark at the begin of a line
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff](?<![^\n\r\x85\u2028\u2029]\ufeff)"
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_TAG: Final = "tag:yaml.org,2002:"
_EXPLICIT: Final[Mapping[str, tuple[type, ...]]] = {
    f"{_TAG}null": (type(None),),
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (float, int),
}
_TEXT_TAGS: Final = frozenset({f"{_TAG}str", f"{_TAG}timestamp"})


class YamlError(ValueError):
    """A text that kubectl cannot read, or a member that it reads twice. `line` counts from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


@dataclass(slots=True)
class YamlNode:
    """A value, and the lines of the file, from 1, where it and its members stand.

    `text_line` is the first line of a literal block's text, and None for other values.
    """

    value: Any
    line: int
    text_line: int | None = None
    key_lines: dict[str, int] = field(default_factory=dict)
    children: "dict[str | int, YamlNode]" = field(default_factory=dict)
    size: int = 1


def decoded(content: bytes) -> str:
    """Return the text, which is UTF-8, or UTF-16 after a byte order mark. Raises YamlError if it is neither."""
    encoding = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
    try:
        return content.removeprefix(BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", content[: error.start])) + 1
        raise YamlError(f"byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8", line) from None


def documents(text: str) -> Iterator[YamlNode]:
    """Yield the root of each document, also of empty ones. Raises YamlError."""
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        raise YamlError(f"the character U+{ord(forbidden[0]):04X} is not allowed", _line_at(text, forbidden.start()))
    builder = _Document()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, _PARTS):
                builder.add(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                builder = _Document()
            elif isinstance(event, yaml.DocumentEndEvent):
                assert builder.root is not None  # noqa: S101  # a document has exactly one node
                yield builder.root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(getattr(mark, "line", 0) + 1, _line_at(text, len(text.rstrip("\r\n"))))  # the end is no line
        raise YamlError(f"this is not YAML: {error.problem or error.context}", line) from None


def resolved(text: str) -> Any:
    """Return the JSON value of a plain scalar: text, number, truth value or None. NaN and infinity are no JSON."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return _float(text)
    if first not in "+-0123456789":
        return text
    bare = text.replace("_", "")
    whole = _whole(bare)
    if whole is not None:
        return whole
    number = _float(bare)
    return text if number is bare else number


class _Document:
    """Builder of one document's nodes. It has no recursion, so depth is no danger."""

    def __init__(self) -> None:
        self.root: YamlNode | None = None
        self._open: list[YamlNode] = []
        self._keys: list[tuple[str, int] | None] = []
        self._are_flow: list[bool] = []
        self._anchors: dict[str, YamlNode] = {}
        self._aliased = 0

    def add(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            if not event.style and self._are_flow and self._are_flow[-1]:  # what brackets hold is flow, too
                _check_between_brackets(event)
            node = self._anchored(event, _scalar(event))
            is_merge = event.value == "<<" and (event.implicit[0] or event.tag == f"{_TAG}merge")
            self._put(node, is_merge=is_merge)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._keys.pop()
            self._are_flow.pop()
            self._put(self._open.pop(), is_merge=False)
        elif isinstance(event, yaml.AliasEvent):
            self._put(self._alias(event), is_merge=False)
        else:
            line = _line_of(event)
            if len(self._open) >= MAX_DEPTH:
                raise YamlError("it is nested too deep", line)
            self._open.append(
                self._anchored(event, YamlNode({} if isinstance(event, yaml.MappingStartEvent) else [], line))
            )
            self._keys.append(None)
            self._are_flow.append(event.flow_style)

    def _anchored(self, event: Any, node: YamlNode) -> YamlNode:
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> YamlNode:
        line = _line_of(event)
        node = self._anchors.get(event.anchor)
        if node is None:
            raise YamlError(f"the anchor {event.anchor!r} is not defined before this place", line)
        if any(each is node for each in self._open):
            raise YamlError(f"the anchor {event.anchor!r} contains itself", line)
        self._aliased += node.size
        if self._aliased > _MAX_ALIASED:
            raise YamlError("aliases repeat too much", line)
        return node

    def _put(self, node: YamlNode, *, is_merge: bool) -> None:
        if not self._open:
            node.value = _as_json(node)
            self.root = node
            return
        parent = self._open[-1]
        parent.size += node.size
        if isinstance(parent.value, list):
            _set(parent, len(parent.value), node)
            return
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = ("<<", 0) if is_merge else (_name(node), node.line)
            return
        self._keys[-1] = None
        name, line = key
        if not line:
            _merge(parent, node)
            return
        if name in parent.key_lines:
            first = parent.key_lines[name]
            raise YamlError(f"{shown(name)} stands here again, after line {first}; remove one of the two", line)
        parent.key_lines[name] = line
        _set(parent, name, node)


def _set(parent: YamlNode, step: str | int, node: YamlNode) -> None:
    parent.children[step] = node
    if isinstance(step, int):
        parent.value.append(_as_json(node))
    else:
        parent.value[step] = _as_json(node)


def _merge(parent: YamlNode, node: YamlNode) -> None:
    """Copy the members as go-yaml v2 does: in the order of the text, so that a later member wins."""
    sources = list(node.children.values())[::-1] if isinstance(node.value, list) else [node]
    for each in sources:
        if not isinstance(each.value, dict):
            raise YamlError("<< needs a mapping, or a list of mappings", node.line)
        for name, child in each.children.items():
            _set(parent, name, child)


def _scalar(event: Any) -> YamlNode:
    line = _line_of(event)
    text_line = line + 1 if event.style == "|" else None
    if event.tag is None and not event.implicit[0]:
        return YamlNode(event.value, line, text_line)
    value = _tagged(event.tag, event.value, line)
    return YamlNode(value, line, text_line)


def _check_between_brackets(event: Any) -> None:
    """Raise YamlError for a text without quotes that go-yaml reads differently."""
    if "?" in event.value:
        raise YamlError("write a text with ? between brackets in quotes", _line_of(event))
    if event.tag is not None and not event.value:  # to go-yaml, a comma after the tag is a part of it
        raise YamlError(f"the tag {shown(event.tag)} has no value after it; write one", _line_of(event))


def _as_json(node: YamlNode) -> Any:
    """Return the node's value as Go writes it as JSON: a float without a fraction is a whole number."""
    value = node.value
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise YamlError("NaN and infinity are no numbers of JSON; write a text in quotes", node.line)
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < _MAX_WHOLE else value


def _tagged(tag: str | None, text: str, line: int) -> Any:
    if tag in _TEXT_TAGS:
        return text
    if tag is not None and tag not in _EXPLICIT:
        raise YamlError(f"the tag {shown(tag)} is not for Kubernetes; remove it", line)
    value = resolved(text)
    if tag is not None and type(value) not in _EXPLICIT[tag]:
        raise YamlError(f"{shown(text)} is not of the type !!{tag.removeprefix(_TAG)}", line)
    return value


def _name(key: YamlNode) -> str:
    """Return the name of a member. kubectl turns numbers and truth values into texts."""
    value = key.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value < 2**63:
        return str(value)
    if isinstance(value, float):
        return _float_name(value)
    raise YamlError(f"{_KINDS[type(value)]} cannot be the name of a member", key.line)


def _line_of(event: Any) -> int:
    line: int = event.start_mark.line + 1
    return line


def _line_at(text: str, offset: int) -> int:
    return sum(1 for _ in _LINE_END.finditer(text, 0, offset)) + 1


def shown(text: str) -> str:
    """Return the beginning of a text for a message."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _whole(text: str) -> int | None:
    """Return the number that Go's ParseInt and ParseUint find with base 0, and go-yaml's own `0b`, or None."""
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.removeprefix("+"))
    prefix = digits[:2].lower()
    if prefix in _BASES:
        base, digits = _BASES[prefix], digits[2:]
    else:
        base = 8 if digits[:1] == "0" and len(digits) > 1 else 10
    if _DIGITS[base].fullmatch(digits):
        value = int(sign + digits, base)
        return value if -(2**63) <= value < (2**63 if text[0] == "+" else 2**64) else None
    odd = _ODD_BINARY.fullmatch(text)
    return int(odd[1], 2) if odd else None


def _float(text: str) -> Any:
    """Return the number, or the text itself if go-yaml finds none in it, or one too large."""
    if not _FLOAT.fullmatch(text):
        return text
    value = float(text)
    return value if math.isfinite(value) else text


def _float_name(value: float) -> str:
    """Return the shortest digits that give the same float of 32 bits, in Go's format `g`."""
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isnan(single):
        return ".nan"
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    every = (f"{single:.{precision}e}" for precision in range(10))
    digits, _, exponent = next(e for e in every if struct.pack("f", float(e)) == struct.pack("f", single)).partition(
        "e"
    )
    size = int(exponent)
    if not _LEAST_EXPONENT <= size < _EXPONENT:
        return f"{digits}e{'-' if size < 0 else '+'}{abs(size):02}"
    return f"{float(f'{digits}e{size}'):.{max(0, len(digits.partition('.')[2]) - size)}f}"


_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_DIGITS: Final = {
    base: re.compile(f"[{digits}]+") for base, digits in ((2, "01"), (8, "0-7"), (10, "0-9"), (16, "0-9a-fA-F"))
}
_ODD_BINARY: Final = re.compile(r"0b([-+][01]+)")
_MAX_WHOLE: Final = 1e21
_LEAST_EXPONENT: Final = -4
_EXPONENT: Final = 6
_SHOWN: Final = 60
_KINDS: Final[Mapping[type, str]] = {dict: "a mapping", list: "a list", int: "so large a number", type(None): "null"}
