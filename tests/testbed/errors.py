"""What can go wrong in the testbed, told to a person."""


class TestbedError(Exception):
    """Something a person can read and mend; the text is the whole story."""

    __test__ = False  # pytest would take the name for a test class


class SourceMissingError(TestbedError):
    """Nothing on this machine can make the part that was asked for; the text says what was looked for."""


class PortTakenError(TestbedError):
    """Another program took a port between our choosing and our using it: choose again."""
