"""Compilation of `.proto` sources to the envelope that the Java client would send, by protoc in a child process.

This package limits the sources, runs the child and parses its errors. `core` judges the envelope as a broker does. The
compiler is never loaded into the operator's process, because the sources are not trusted.
"""

from topicschema.protoc.child import (
    LIMITS,
    ProtocLimits,
    compile_envelope,
    compile_envelope_async,
    compile_first,
)
from topicschema.protoc.sources import MAX_FILES, PATH, ProtobufSources, file_of, is_name

__all__ = [
    "LIMITS",
    "MAX_FILES",
    "PATH",
    "ProtobufSources",
    "ProtocLimits",
    "compile_envelope",
    "compile_envelope_async",
    "compile_first",
    "file_of",
    "is_name",
]
