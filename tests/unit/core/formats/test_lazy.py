import subprocess
import sys

from topicschema.core.formats import FORMATS, protobuf_native
from topicschema.core.schemas import SchemaType


def test_what_is_said_of_a_deferred_format_is_what_it_says() -> None:
    assert FORMATS[SchemaType.PROTOBUF_NATIVE].has_checker is protobuf_native.FORMAT.has_checker


def test_nobody_pays_for_protobuf_who_does_not_ask_for_it() -> None:
    program = "import sys; from topicschema.core import compatibility; print('google.protobuf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
