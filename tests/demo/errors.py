"""The errors that end the demo early, with messages for people."""


class DemoError(Exception):
    """A step had an unexpected result. The message has all that is needed."""
