"""The logs of libraries about connections: one line a second, and nothing that a client sent."""

import logging

import pytest
from aiohttp.http_exceptions import LineTooLong

from topicschema.https import connection_logs


def broken(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logging.getLogger("aiohttp.server").exception("Error handling request from %s", "::1")


def test_one_line_a_second_with_the_number_of_those_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    with connection_logs.limited(lambda: now):
        for number in range(30):
            now = number / 10
            logging.getLogger("asyncio").warning("socket.send() raised exception.")
            broken(LineTooLong(b"secret", 4096))
            logging.getLogger("topicschema.webhook.server").warning("another line")
    about = [each for each in caplog.messages if each != "another line"]
    assert about == [
        "socket.send() raised exception.",
        "socket.send() raised exception. (and 19 more log lines about connections)",
        "socket.send() raised exception. (and 19 more log lines about connections)",
    ]
    assert caplog.messages.count("another line") == 30
    logging.getLogger("asyncio").warning("afterwards")
    logging.getLogger("asyncio").warning("afterwards")
    assert caplog.messages[-2:] == ["afterwards", "afterwards"]


@pytest.mark.parametrize(
    ("error", "text", "has_traceback"),
    [
        (LineTooLong(b"secret", 4096), "Error handling request from ::1: LineTooLong", False),
        (ConnectionResetError("secret"), "Error handling request from ::1: ConnectionResetError", False),
        (KeyError("a bug"), "Error handling request from ::1", True),
    ],
)
def test_an_error_of_a_broken_connection_has_no_traceback(
    caplog: pytest.LogCaptureFixture, error: Exception, text: str, *, has_traceback: bool
) -> None:
    with connection_logs.limited(lambda: 0.0):
        broken(error)
    (record,) = caplog.records
    assert record.getMessage() == text
    assert bool(record.exc_info) is has_traceback
