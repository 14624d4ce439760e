"""Protobuf's features, resolved for every definition: proto2 and proto3 are editions like others.

Source: protobuf.dev's "Feature Settings for Editions", feature_resolver.cc. The broker and the Java client's generic
records do not use them (protobuf's Java library 3.25). The clients' own code does, so `risks` compares them.
"""

from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    OneofDescriptorProto,
)

from topicschema.core.formats.protobuf_native.model import Kind, Presence

_PRESENCES: Final = {
    FeatureSet.EXPLICIT: Presence.EXPLICIT,
    FeatureSet.IMPLICIT: Presence.IMPLICIT,
    FeatureSet.LEGACY_REQUIRED: Presence.REQUIRED,
}
_HOLDERS: Final = frozenset({Kind.MESSAGE, Kind.GROUP})


Definition = FileDescriptorProto | DescriptorProto | EnumDescriptorProto | FieldDescriptorProto | OneofDescriptorProto


@dataclass(frozen=True, slots=True)
class Features:
    """The features of definitions that do not set their own."""

    presence: Presence = Presence.EXPLICIT
    has_closed_enums: bool = False
    checks_utf8: bool = True
    is_delimited: bool = False

    def within(self, definition: Definition) -> "Features":
        """Return these features with those that the definition sets itself."""
        if not definition.HasField("options") or not definition.options.HasField("features"):
            return self  # checked first: most definitions have no options, and protobuf would make empty ones
        own, features = definition.options.features, self
        if own.field_presence in _PRESENCES:
            features = replace(features, presence=_PRESENCES[own.field_presence])
        if own.enum_type:
            features = replace(features, has_closed_enums=own.enum_type == FeatureSet.CLOSED)
        if own.utf8_validation:
            features = replace(features, checks_utf8=own.utf8_validation == FeatureSet.VERIFY)
        if own.message_encoding:
            features = replace(features, is_delimited=own.message_encoding == FeatureSet.DELIMITED)
        return features

    def presence_of(self, proto: FieldDescriptorProto, kind: Kind) -> Presence:
        """Return the presence of the field; `self` are the features of the field."""
        if proto.label == FieldDescriptorProto.LABEL_REPEATED:
            return Presence.IMPLICIT
        if proto.label == FieldDescriptorProto.LABEL_REQUIRED:
            return Presence.REQUIRED
        if self.presence is Presence.IMPLICIT and (
            kind in _HOLDERS or proto.HasField("oneof_index") or proto.HasField("extendee")
        ):
            return Presence.EXPLICIT
        return self.presence


_PROTO2: Final = Features(has_closed_enums=True, checks_utf8=False)
_PROTO3: Final = Features(presence=Presence.IMPLICIT)
_EDITION: Final = Features()
"""The features of all editions so far, 2023 to 2026, which do not differ in those used here."""


def of_file(proto: FileDescriptorProto) -> Features:
    """Return the features of the file. As in Java, a file that is neither proto3 nor an edition is proto2."""
    if proto.syntax == "editions":
        return _EDITION.within(proto)
    if proto.syntax == "proto3":
        return _PROTO3
    return replace(_PROTO2, checks_utf8=proto.options.java_string_check_utf8)
