"""Commands of the product, each in a process of its own that one warm interpreter forks.

To start an interpreter costs more than most commands do. A child has its own working directory, its own files for
descriptors 0 to 2 and its own exit code, and ends as Python ends. Commands that read messages are not for it: numpy and
Arrow start threads, and forks and threads do not go together.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from topicschema import __main__, cli

_MESSAGES: Final = ("message_", "validate")
"""How modules begin that load numpy, Arrow or threads."""


def run(where: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `topicschema` with the arguments in that folder."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps({"where": str(where), "arguments": arguments, "stdin": stdin}) + "\n")
    server.stdin.flush()
    code, output, errors = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(arguments, code, output, errors)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The warm interpreter, which ends with this process; it takes the width of no terminal."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", __name__]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(server.__exit__, None, None, None)
    return server


def _serve() -> int:
    """Answer line by line; the exit code, in a child that of its command."""
    for module in sorted(Path(*cli.__path__).glob("[a-z]*.py")):
        if not module.stem.startswith(_MESSAGES):
            importlib.import_module(f"topicschema.cli.{module.stem}")
    gc.freeze()  # children need not look through all that at their end
    with os.fdopen(os.dup(0)) as asked, os.fdopen(os.dup(1), "w") as answers:
        for line in asked:
            request = json.loads(line)
            with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
                given.write(request["stdin"].encode())
                given.seek(0)
                child = os.fork()
                if not child:
                    for number, file in enumerate((given, output, errors)):
                        os.dup2(file.fileno(), number)
                    return _command(request)
                _, status = os.waitpid(child, 0)
                texts = [_text(file) for file in (output, errors)]
            answers.write(json.dumps([os.waitstatus_to_exitcode(status), *texts]) + "\n")
            answers.flush()
    return 0


def _command(request: dict[str, Any]) -> int:
    os.chdir(request["where"])
    try:
        return __main__.main(request["arguments"])
    except SystemExit as end:  # argparse's: it leaves files of the parent's to be closed
        return int(end.code or 0)


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())


if __name__ == "__main__":
    sys.exit(_serve())
