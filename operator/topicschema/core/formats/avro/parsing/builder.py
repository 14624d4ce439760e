"""Builder from JSON values to the model, by the rules of Avro's Schema.parse.

It neither reads texts nor checks defaults. The builder consists of steps of the trampoline, so depth costs no
recursion. Names resolve in the order of the text: a type may be named once its
definition has begun. Avro 1.12 also accepts names before that (`forward_references`). It also accepts a second
definition of a name if both are equal at that moment: an enum, a fixed, or a record within the record of its name.
References mean the first.

Of several faults, the builder raises the one that Avro meets first, because the broker treats Avro's exceptions
differently (`broker_errors`).
"""

from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import Any, ClassVar, TypeVar

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation, run, settled
from topicschema.core.formats.avro.model import (
    NO_ALIASES,
    Array,
    Enum,
    Field,
    Fixed,
    JsonValue,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    Union,
)
from topicschema.core.formats.avro.names import LengthLimit
from topicschema.core.formats.avro.parsing import attributes
from topicschema.core.formats.avro.parsing.forward_references import NO_FORWARD_REFERENCES, ForwardReferences

_N = TypeVar("_N", bound=Named)
_Json = Mapping[str, Any]
_Building = Computation[Node]


class Builder:
    """A builder of one schema from a JSON value.

    After `build`, `named` has the types by full name. `fields` has the fields of all records, each after those in its
    type.
    """

    def __init__(self, value: Any, library: Library) -> None:
        self.named: dict[str, Named] = {}
        self.fields: list[Field] = []
        self.forward = ForwardReferences(value) if library is Library.AVRO_1_12 else NO_FORWARD_REFERENCES
        self.value = value
        self.library = library
        self._open: set[Named] = set()
        self._last_error: InvalidSchemaError | None = None
        self._length = LengthLimit()

    def build(self) -> Node:
        """Return the root. Raise InvalidSchemaError with rule and path."""
        root: Node = run(settled(self._schema(self.value, "$", "")))
        if self._last_error is not None:
            raise self._last_error
        return root

    def _schema(self, value: Any, path: str, space: str) -> "Node | _Building":
        """Return the node that `value` describes, or the step that builds it if it contains other nodes."""
        self._length.add(path, space)
        if isinstance(value, str):
            return (
                Primitive(path=path, kind=value) if value in names.PRIMITIVES else self._reference(value, path, space)
            )
        if isinstance(value, list):
            return self._union(value, path, space)
        if not isinstance(value, dict):
            what = {bool: "a boolean", type(None): "null"}.get(type(value), "a number")
            attributes.refuse(
                "NOT_A_SCHEMA", f"{what} is no schema; write a type name, an object or an array of schemas", path
            )
        kind = attributes.kind(value, path)
        if kind in names.PRIMITIVES:
            return Primitive(path=path, props=attributes.custom_props(value), kind=kind)
        build = self._BUILDS.get(kind)
        return build(self, value, path, space) if build else self._by_type(kind, path, space)

    def _by_type(self, kind: str, path: str, space: str) -> Node:
        """Return the named type that an object's `type` names. The object's other members have no effect."""
        if self.library is Library.AVRO_1_12:
            known = self._known(kind, path, space)
        else:
            _refuse_slip(kind, f"{path}.type")
            known = self._meant(names.full(kind, space, f"{path}.type", self.library))
        if known is None:
            message = f"{names.shown(kind)} is neither a type of Avro nor a name defined before this place"
            return self._undefined("UNKNOWN_TYPE", _with_hint(message, kind), f"{path}.type")
        return known

    def _reference(self, name: str, path: str, space: str) -> Node:
        if self.library is Library.AVRO_1_12:
            known = self._known(name, path, space)
        else:
            _refuse_slip(name, path)
            full_name = names.full(name, space, path, self.library)
            known = self._meant(full_name, names.full(name, "", path, self.library))
        if known is None:
            message = f"the name {names.shown(name)} is not defined before this place"
            return self._undefined("UNDEFINED_NAME", _with_hint(message, name), path)
        return known

    def _undefined(self, rule: str, message: str, path: str) -> Node:
        """Raise the error. With Avro 1.12, which resolves names last, return a record for the unknown type instead."""
        error = InvalidSchemaError(rule, message, Place(path))
        if self.library is Library.AVRO_1_11:
            raise error
        self._last_error = self._last_error or error
        return Record(path=path, full_name=f"<{path}>")

    def _known(self, name: str, path: str, space: str) -> Named | None:
        """Return the earlier or later type that Avro 1.12 finds by a name, or None. It does not validate the name."""
        full_name = f"{space}.{name}" if space and "." not in name else name
        return self._meant(full_name, name) or self.forward.placeholder(full_name, path)

    def _meant(self, *full_names: str) -> Named | None:
        return next((self.named[each] for each in full_names if each in self.named), None)

    def _array(self, value: _Json, path: str, space: str) -> _Building:
        if "items" not in value:
            attributes.refuse("MISSING_ATTRIBUTE", "an array needs 'items', the type of its elements", path)
        items = yield settled(self._schema(value["items"], f"{path}.items", space))
        return Array(path=path, props=self._copied_props(value, path), items=items)

    def _map(self, value: _Json, path: str, space: str) -> _Building:
        if "values" not in value:
            attributes.refuse("MISSING_ATTRIBUTE", "a map needs 'values', the type of its values", path)
        values = yield settled(self._schema(value["values"], f"{path}.values", space))
        return Map(path=path, props=self._copied_props(value, path), values=values)

    def _copied_props(self, value: _Json, path: str) -> Mapping[str, JsonValue]:
        """Return the properties of a record, array or map, which Avro 1.12 copies when it resolves names."""
        props = attributes.custom_props(value)
        if self.library is Library.AVRO_1_12 and props:
            self._last_error = self._last_error or attributes.error_of_copy(props, path)
        return props

    def _union(self, value: list[Any], path: str, space: str) -> "Node | _Building":
        if not all(text.__class__ is str for text in value):
            return self._deep_union(value, path, space)
        branches: list[Any] = [self._schema(name, f"{path}[{index}]", space) for index, name in enumerate(value)]
        return self._union_of(branches, path)

    def _deep_union(self, value: list[Any], path: str, space: str) -> _Building:
        branches: list[Node] = []
        for index, text in enumerate(value):
            made: Any = self._schema(text, f"{path}[{index}]", space)
            branches.append((yield made) if made.__class__ is GeneratorType else made)
        return self._union_of(branches, path)

    def _union_of(self, branches: list[Node], path: str) -> Union:
        """Return the union. Raise InvalidSchemaError if a branch is a union, or has the label of an earlier branch."""
        places: dict[str, str] = {}
        for index, branch in enumerate(branches):
            place = f"{path}[{index}]"
            if isinstance(branch, Union):
                message = "a union may not stand directly in a union; list all branches in one"
                attributes.refuse("NESTED_UNION", message, place)
            label = _label(branch)
            if label in places:
                message = f"the union has {names.shown(label)} twice; keep one of them"
                error = InvalidSchemaError("DUPLICATE_BRANCH", message, Place(place))
                if self.forward.places.isdisjoint((place, places[label])):
                    raise error
                self._last_error = self._last_error or error
            places[label] = place
        return Union(path=path, branches=tuple(branches))

    def _record(self, value: _Json, path: str, space: str) -> _Building:
        full_name = attributes.type_name(value, path, space, self.library)
        attributes.refuse_primitive(full_name, path)
        record = self._define(Record(path=path, full_name=full_name, doc=attributes.text_or_none(value, "doc")), value)
        self._open.add(record)
        space = record.namespace
        fields: list[Field] = []
        for index, text in enumerate(attributes.required_list(value, "fields", "a record", path)):
            inner = f"{path}.fields[{index}]"
            name = attributes.field_name(text, inner)
            made: Any = self._schema(text["type"], f"{inner}.type", space)
            kind: Node = (yield made) if made.__class__ is GeneratorType else made
            field = attributes.field(text, name, kind, inner, self.library)
            fields.append(field)
            self.fields.append(field)
        _refuse_duplicates(fields, record)
        self._open.discard(record)
        record.fields = tuple(fields)
        record.props = self._copied_props(value, path)
        record.aliases = self._aliases(value, record)
        return record

    def _enum(self, value: _Json, path: str, space: str) -> Node:
        name = attributes.type_name(value, path, space, self.library)
        symbols = attributes.required_list(value, "symbols", "an enum", path)
        attributes.refuse_primitive(name, path)
        attributes.check_symbols(symbols, path, self.library)
        default = attributes.text_or_none(value, "default")
        if default is not None and default not in symbols:
            message = f"the enum's default {names.shown(default)} is not one of its symbols"
            attributes.refuse("INVALID_ATTRIBUTE", message, f"{path}.default")
        enum = Enum(
            path=path,
            full_name=name,
            doc=attributes.text_or_none(value, "doc"),
            symbols=tuple(symbols),
            default=default,
        )
        return self._finish(enum, value, attributes.RESERVED_IN_ENUM)

    def _fixed(self, value: _Json, path: str, space: str) -> Node:
        name = attributes.type_name(value, path, space, self.library)
        size, doc = attributes.size(value, path), attributes.text_or_none(value, "doc")
        attributes.refuse_primitive(name, path)
        return self._finish(Fixed(path=path, full_name=name, doc=doc, size=size), value)

    def _finish(self, node: Named, value: _Json, reserved: frozenset[str] = attributes.RESERVED) -> Named:
        node = self._define(node, value)
        node.props = attributes.custom_props(value, reserved)
        node.aliases = self._aliases(value, node)
        return node

    def _aliases(self, value: _Json, node: Named) -> Mapping[str, None]:
        """Return the aliases as full names. An alias without a namespace takes that of the type."""
        space, path = node.namespace, f"{node.path}.aliases"
        aliases = attributes.aliases(value, node.path)
        if not aliases:
            return NO_ALIASES
        self._length.add("", space, len(aliases))
        return dict.fromkeys(names.full(alias, space, path, self.library) for alias in aliases)

    def _define(self, node: _N, value: _Json) -> _N:
        """Return the node that represents the type. Raise DUPLICATE_NAME if another type has the name."""
        if self.library is Library.AVRO_1_12:
            attributes.check_namespace(value, node.full_name, node.path)
        if self.forward.places:
            node = self.forward.resolve(node)
        earlier = self.named.setdefault(node.full_name, node)
        if earlier is node:
            return node
        if self.library is Library.AVRO_1_11 or not self._is_same(earlier, node):
            message = f"{names.shown(node.full_name)} is defined already at {earlier.path}; refer to it by its name"
            attributes.refuse("DUPLICATE_NAME", message, node.path)
        return node

    def _is_same(self, earlier: Named, node: Named) -> bool:
        """Return the result of Avro's equality for a definition that has only begun, without properties and fields."""
        if isinstance(earlier, Enum) and isinstance(node, Enum):
            return not earlier.props and earlier.symbols == node.symbols
        if isinstance(earlier, Fixed) and isinstance(node, Fixed):
            return not earlier.props and earlier.size == node.size
        return earlier in self._open and isinstance(node, Record)

    # Functions, not bound methods: a builder with a reference to itself would occupy memory until garbage collection.
    _BUILDS: ClassVar[Mapping[str, Callable[["Builder", _Json, str, str], "Node | _Building"]]] = {
        "record": _record,
        "error": _record,
        "enum": _enum,
        "fixed": _fixed,
        "array": _array,
        "map": _map,
    }


def _with_hint(message: str, name: str) -> str:
    hint = names.hint(name)
    return f"{message}; {hint}" if hint else message


def _refuse_slip(name: str, path: str) -> None:
    """Raise INVALID_NAME, as Avro 1.11 does, with the cause, if the name is invalid and the cause is known."""
    if names.is_plain(name):
        return
    try:
        names.check(name.rpartition(".")[2], path, Library.AVRO_1_11)
    except InvalidSchemaError as error:
        hint = names.hint(name)
        if not hint:
            raise
        attributes.refuse(error.rule, f"{names.shown(name)} is no name of a type; {hint}", path)


def _refuse_duplicates(fields: list[Field], record: Record) -> None:
    earlier: set[str] = set()
    for field in fields:
        if field.name in earlier:
            message = f"the record {names.shown(record.full_name)} has the field {names.shown(field.name)} twice"
            attributes.refuse("DUPLICATE_FIELD", message, f"{field.path}.name")
        earlier.add(field.name)


def _label(node: Node) -> str:
    """Return the name that may occur only once in a union: the full name, or the name of the kind."""
    if isinstance(node, Primitive):
        return node.kind
    if isinstance(node, Named):
        return node.full_name
    return "array" if isinstance(node, Array) else "map"
