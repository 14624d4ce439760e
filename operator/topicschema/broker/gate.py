"""What all share who ask one broker: how fast it is asked, and the circuit that opens when it is away."""

from topicschema.broker.circuit import Circuit
from topicschema.broker.clock import Clock
from topicschema.broker.pace import PER_SECOND, Pace


class Gate:
    """One broker's gate. What is one policy's matter alone, a token that is refused for instance, is not known here."""

    def __init__(self, clock: Clock, per_second: int = PER_SECOND) -> None:
        self.pace = Pace(clock, per_second)
        self.circuit = Circuit(clock, "broker")
