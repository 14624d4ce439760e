"""`.proto` sources compiled to the envelope that the Java client would send, by protoc in a child process.

Here is what may be compiled, the child that does it, and what is made of its complaints. What a broker then makes of
the envelope is `core`'s matter. The compiler is never loaded into this process: the sources are a stranger's.
"""

from topicschema.protoc.child import (
    LIMITS,
    Limits,
    compile_envelope,
    compile_envelope_async,
    compile_first,
)
from topicschema.protoc.sources import MAX_FILES, PATH, ProtobufSources, file_of, is_name

__all__ = [
    "LIMITS",
    "MAX_FILES",
    "PATH",
    "Limits",
    "ProtobufSources",
    "compile_envelope",
    "compile_envelope_async",
    "compile_first",
    "file_of",
    "is_name",
]
