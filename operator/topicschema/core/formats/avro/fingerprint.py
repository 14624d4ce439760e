"""Equality of schemas to the broker: `equal`, the `digest` of a named type, and the fingerprint of a whole schema.

All follow Avro's Schema.equals, on which the broker's deduplication depends; it is the same in 1.11.4 and 1.12.0.
docs/spec/fingerprint.md describes the form. Each named type is written once and referred to by name. So the cost is
linear in the text, and cycles need no special handling.

Avro 1.12 accepts several definitions of a name. While `equals` compares two records, it takes them for equal, so it
compares the infinite trees that the definitions describe. Definitions of one tree are merged here.
"""

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any, Final

from topicschema.core import schemas
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.graph.cycles import components
from topicschema.core.formats.avro.graph.merging import partition
from topicschema.core.formats.avro.model import (
    ABSENT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    Union,
)
from topicschema.core.schemas import SchemaType

_Part = str | Node
_Form = tuple[str, list[Named]]
_NO_LABELS: Final[Mapping[Named, str]] = {}
_NAMED: Final[frozenset[Any]] = frozenset({Record, Enum, Fixed})
_QUOTED_KINDS: Final = {kind: f'"{kind}"' for kind in names.PRIMITIVES}
_EMPTY: Final[Mapping[type, str]] = {type(None): "null", bool: "false", int: "0", list: "[]", dict: "{}"}
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def seal(kind: SchemaType, root: Node) -> str:
    """Set `digest` on all named types of a new schema, and return its fingerprint: `sha256:` and 64 hex digits.

    The fingerprint is equal for two schemas exactly when the broker treats the second as the first.
    """
    first, refs = _written([root])
    forms = _definitions(refs, lambda _: True)
    if len({named.full_name for named in forms}) == len(forms):
        _assign(forms)
        return _of_whole(kind, first, [(named.full_name, text) for named, (text, _) in forms.items()])
    merged, first_of = _assign_merged(forms)
    labels = _labels([first_of[ref] for ref in refs], merged)
    labels = {named: labels[each] for named, each in first_of.items() if each in labels}
    definitions = [
        (labels.get(each, each.full_name), _written(_definition(each, labels), labels)[0]) for each in merged
    ]
    return _of_whole(kind, _written([root], labels)[0], definitions)


def assign_digests(root: Node) -> None:
    """Set `digest` on all named types of a schema that have none yet."""
    _assign_merged(_definitions(_written([root])[1], lambda named: not named.digest))


def _of_whole(kind: SchemaType, first: str, definitions: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of a schema's form and of its definitions, each with its name."""
    lines = [f"{kind} structure", first, *(text for _, text in sorted(definitions))]
    return schemas.digest("\n".join(lines).encode("ascii"))


def _labels(starts: Sequence[Named], forms: Mapping[Named, _Form]) -> dict[Named, str]:
    """Return names for all definitions of a name but the first that a walk meets.

    The walk goes from each type at once to those that its form names, in order.
    """
    labels: dict[Named, str] = {}
    visited: set[Named] = set()
    times: dict[str, int] = {}
    ahead = [*reversed(starts)]
    while ahead:
        named = ahead.pop()
        if named not in visited:
            visited.add(named)
            number = times[named.full_name] = times.get(named.full_name, -1) + 1
            if number:
                labels[named] = f"{named.full_name}#{number}"
            ahead += reversed(forms[named][1])
    return labels


def _assign_merged(forms: Mapping[Named, _Form]) -> tuple[dict[Named, _Form], dict[Named, Named]]:
    """Set the digests of types whose names may have several definitions.

    Return one definition of each tree, and this one for each definition.
    """
    firsts: dict[int, Named] = {}
    classes = _partition(forms, forms)
    first_of = {named: firsts.setdefault(classes[named], named) for named in forms}
    merged = {each: (forms[each][0], [first_of.get(ref, ref) for ref in forms[each][1]]) for each in firsts.values()}
    _assign(merged)
    for named, first in first_of.items():
        named.digest = first.digest
    return merged, first_of


def _partition(some: Iterable[Named], forms: Mapping[Named, _Form]) -> dict[Named, int]:
    """Return the classes of types that describe the same tree. All others that they refer to have digests."""
    inside = set(some)
    colors = {
        each: " ".join([forms[each][0], *("" if ref in inside else ref.digest.hex() for ref in forms[each][1])])
        for each in inside
    }
    return partition(colors, {each: [ref for ref in forms[each][1] if ref in inside] for each in inside})


def _assign(forms: Mapping[Named, _Form]) -> None:
    for component in components({named: [ref for ref in refs if ref in forms] for named, (_, refs) in forms.items()}):
        _assign_together(component, forms)


def _definitions(refs: Sequence[Named], is_needed: Callable[[Named], bool]) -> dict[Named, _Form]:
    """Return the forms of the definitions that are needed, of `refs` and of all types that these lead to."""
    forms: dict[Named, _Form] = {}
    waiting = [*refs]
    while waiting:
        named = waiting.pop()
        if named not in forms and is_needed(named):
            forms[named] = _written(_definition(named))
            waiting += forms[named][1]
    return forms


def _assign_together(component: Sequence[Named], forms: Mapping[Named, _Form]) -> None:
    """Set the digests of one type or of types that refer to each other.

    All other types that they refer to have theirs.
    """
    met = {*component, *(ref for node in component for ref in forms[node][1])}
    numbers: dict[Named, int] = {}
    if len({each.full_name for each in met}) < len(met):
        numbers = _partition(component, forms)  # of one member each
    others = sorted(each.digest.hex() for each in met.difference(component))
    texts = sorted(_numbered(node, forms[node], numbers) if numbers else forms[node][0] for node in component)
    closure = hashlib.sha256("\n".join([*texts, *others]).encode("ascii"))
    for node in component:
        whole = closure.copy()
        whole.update(f"\n{encode_basestring_ascii(node.full_name)}{numbers.get(node, '')}".encode("ascii"))
        node.digest = whole.digest()


def _numbered(node: Named, form: _Form, numbers: Mapping[Named, int]) -> str:
    """Return the form of a type where a name may have several definitions: with numbers that distinguish them."""
    text, refs = form
    return " ".join([text, str(numbers[node]), *(str(numbers.get(ref, ref.digest.hex())) for ref in refs)])


def equal(one: Node, other: Node) -> bool:
    """Return True if the two schemas, whose named types have digests, are equal to Avro."""
    if isinstance(one, Named) and isinstance(other, Named):
        return one.full_name == other.full_name and bool(one.digest) and one.digest == other.digest
    (text, refs), (other_text, other_refs) = _written([one]), _written([other])
    if text != other_text:
        return False
    return all(left.digest and left.digest == right.digest for left, right in zip(refs, other_refs, strict=True))


def _written(parts: Sequence[_Part], labels: Mapping[Named, str] = _NO_LABELS) -> _Form:
    """Return the text of the parts, with named types by their labels or names, and these named types in order."""
    texts: list[str] = []
    refs: list[Named] = []
    stack: list[Any] = list(reversed(parts))
    while stack:
        part = stack.pop()
        if part.__class__ is str:
            texts.append(part)
        elif part.__class__ is Primitive and not part.props:
            texts.append(_QUOTED_KINDS[part.kind])
        elif part.__class__ in _NAMED:
            texts.append(encode_basestring_ascii(labels.get(part, part.full_name) if labels else part.full_name))
            refs.append(part)
        elif part.__class__ is Union:
            stack.append("]")
            for branch in reversed(part.branches):
                stack += (branch, ",")
            stack[-1] = "[" if part.branches else "[]"
        else:
            stack.extend(reversed(_parts(part)))
    return "".join(texts), refs


def _parts(node: Node) -> list[_Part]:
    """Return the form of an unnamed type, but for a union, as parts. A node among the parts represents its own form."""
    match node:
        case Primitive():
            return [_QUOTED_KINDS[node.kind] if not node.props else f'{{"type":"{node.kind}"{_props(node)}}}']
        case Array():
            return ['{"type":"array","items":', node.items, f"{_props(node)}}}"]
        case Map():
            return ['{"type":"map","values":', node.values, f"{_props(node)}}}"]
        case _:
            raise TypeError(type(node))


def _definition(node: Named, labels: Mapping[Named, str] = _NO_LABELS) -> list[_Part]:
    """Return the form of a named type's definition as parts."""
    name = encode_basestring_ascii(labels.get(node, node.full_name))
    match node:
        case Enum():
            return [f'{{"type":"enum","name":{name},"symbols":{_value(list(node.symbols))}{_props(node)}}}']
        case Fixed():
            return [f'{{"type":"fixed","name":{name},"size":{node.size}{_props(node)}}}']
        case Record():
            parts: list[_Part] = [f'{{"type":"record","name":{name},"fields":[']
            for index, field in enumerate(node.fields):
                comma = "," if index else ""
                parts += [f'{comma}{{"name":{encode_basestring_ascii(field.name)},"type":', field.type, _rest(field)]
            return [*parts, f"]{_props(node)}}}"]
        case _:
            raise TypeError(type(node))


def _rest(field: Field) -> str:
    """Return the text after the type in the form of a field."""
    default = "" if field.default is ABSENT else f',"default":{_value(field.default)}'
    order = "" if field.order == "ascending" else f',"order":"{field.order}"'
    return f"{default}{order}{_props(field)}}}"


def _props(node: Node | Field) -> str:
    return f',"props":{_value(node.props)}' if node.props else ""


def _value(value: Any) -> str:
    """Return the form of a JSON value: members sorted by name, no spaces, doubles by their bits."""
    if value.__class__ is str:
        return encode_basestring_ascii(value)
    if not value and value.__class__ in _EMPTY:
        return _EMPTY[value.__class__]
    if not _holds_doubles(value):
        try:
            return _ENCODER.encode(value)
        except RecursionError:
            pass
    return _by_bits(value)


def _holds_doubles(value: Any) -> bool:
    ahead = [value]
    while ahead:
        inner = ahead.pop()
        if inner.__class__ is dict:
            ahead += inner.values()
        elif inner.__class__ is list:
            ahead += inner
        elif inner.__class__ is float:
            return True
    return False


def _by_bits(value: Any) -> str:
    texts: list[str] = []
    stack: list[Any] = [(value,)]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            texts.append(part)
            continue
        (inner,) = part
        if isinstance(inner, Mapping):
            members = sorted(inner.items(), reverse=True)
            stack += _between("}", [(f"{encode_basestring_ascii(name)}:", child) for name, child in members], "{")
        elif isinstance(inner, list):
            stack += _between("]", [("", child) for child in reversed(inner)], "[")
        else:
            texts.append(_scalar(inner))
    return "".join(texts)


def _between(close: str, members: list[tuple[str, Any]], opening: str) -> list[Any]:
    """Return a container's parts for a stack, last first."""
    parts: list[Any] = [close]
    for label, child in members:
        parts += [(child,), label, ","]
    return [*(parts[:-1] if members else parts), opening]


def _scalar(value: bool | float | str | None) -> str:  # noqa: FBT001 - a JSON value, not a switch
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, float):
        return "d" + ("7ff8000000000000" if math.isnan(value) else struct.pack(">d", value).hex())
    return json.dumps(value)
