"""Errors of the testbed, with messages for people."""


class TestbedError(Exception):
    """An error that a person can fix. The message has all that is needed."""

    __test__ = False  # pytest would take the name for a test class


class SourceMissingError(TestbedError):
    """This machine cannot provide the requested part. The message names what was searched for."""


class PortTakenError(TestbedError):
    """Another program took a port between our choosing and our using it: choose again."""
