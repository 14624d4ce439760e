import subprocess
import sys

from topicschema.core.formats import FORMATS, protobuf_native
from topicschema.core.schemas import SchemaType


def test_a_deferred_format_has_the_values_of_the_format() -> None:
    assert FORMATS[SchemaType.PROTOBUF_NATIVE].has_checker is protobuf_native.FORMAT.has_checker


def test_protobuf_is_not_imported_unless_it_is_used() -> None:
    program = "import sys; from topicschema.core import compatibility; print('google.protobuf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
