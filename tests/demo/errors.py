"""What ends the demo early, told to a person."""


class DemoError(Exception):
    """Something did not turn out as told; the text is the whole story."""
