"""The ways in which a broker breaks, each with what a person is to be told, and how often the operator may ask.

How they are gone through stands in `breakage_course`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from support.sizes import IS_FULL
from testbed import broker_faults
from testbed.broker_faults import status
from testbed.calls import Call, Fault
from testbed.certificates import Authority, Issued
from testbed.fault_proxy import FaultProxy

AWAY = 24
"""Requests in the first minute to a broker without an answer, as docs/broker.md states them."""
ONE_TOPIC = 5 * 7
"""The same of each topic to a broker that answers with errors: looks, and requests of one look."""
ALL = 5 * 5
"""Connections in the first minute where nothing comes over them: four topics and a policy, and looks."""
_ELSEWHERE = "http://169.254.169.254"


@dataclass(frozen=True, slots=True)
class Certificates:
    """One that the policies trust for the proxy, and what may be shown in its place."""

    good: Issued
    expired: Issued
    of_another_name: Issued

    @classmethod
    def made_in(cls, folder: Path) -> "Certificates":
        authority = Authority.at(folder)
        return cls(
            good=authority.issue("good", ["127.0.0.1"]),
            expired=authority.issue("expired", ["127.0.0.1"], timedelta(minutes=1)),
            of_another_name=authority.issue("other", ["broker.example"]),
        )


Turn = Callable[[FaultProxy, Certificates], None]


@dataclass(frozen=True, slots=True)
class Breakage:
    """`reason` is what a topic says that has anything to write, and where it `hides` all, what InSync of others says.

    `on_deletion` is the reason of a topic that is being deleted, where it is another one. `a_minute` bounds the
    requests, or the connections where nothing comes over them, and those of each topic where it `is_of_topics`; None
    where the proxy takes none and so cannot count.
    """

    name: str
    reason: str
    a_minute: int | None
    begin: Turn
    end: Turn
    hides: bool = True
    hides_policy: bool = True
    on_deletion: str = ""
    is_tls: bool = False

    @property
    def is_of_topics(self) -> bool:
        """Whether what fails concerns single topics, each of which waits for itself."""
        return self.a_minute == ONE_TOPIC

    @property
    def is_stalled(self) -> bool:
        """Whether a person is told to change something, rather than to wait."""
        return self.reason in {"RefusedByBroker", "BrokerNotAllowed"}

    @property
    def ends_policy(self) -> bool:
        """Whether what the policy sets is known not to be at its broker, or that it never may be."""
        return self.reason in {"BrokerNotAllowed", "NamespaceNotFound", "TenantNotFound"}


def _answers(fault: Fault) -> Turn:
    def begun(proxy: FaultProxy, _: Certificates) -> None:
        proxy.fault = fault

    return begun


_WELL = _answers(broker_faults.untouched)


def _all(name: str, reason: str, fault: Fault, a_minute: int = ONE_TOPIC) -> Breakage:
    """Whatever is asked, it fails."""
    return Breakage(name, reason, a_minute, _answers(fault), _WELL)


def _is_write(call: Call) -> bool:
    return call.is_write


def _writes(name: str, reason: str, fault: Fault, on_deletion: str = "") -> Breakage:
    """What is asked is answered truly, and what is written fails."""
    begin = _answers(broker_faults.when(_is_write, fault))
    return Breakage(name, reason, ONE_TOPIC, begin, _WELL, hides=False, hides_policy=False, on_deletion=on_deletion)


def _is_of_schemas(call: Call) -> bool:
    return "/schemas/" in call.path


def _schemas(name: str, reason: str, fault: Fault) -> Breakage:
    """What is asked of the Pulsar namespace is answered, and nothing of a topic's schemas."""
    begin = _answers(broker_faults.when(_is_of_schemas, fault))
    return Breakage(name, reason, ONE_TOPIC, begin, _WELL, hides_policy=False)


def _says(reason: str) -> dict[str, str]:
    return {"reason": reason}


def _expired(proxy: FaultProxy, certificates: Certificates) -> None:
    proxy.serve_with(certificates.expired)


def _of_another_name(proxy: FaultProxy, certificates: Certificates) -> None:
    proxy.serve_with(certificates.of_another_name)


def _trusted(proxy: FaultProxy, certificates: Certificates) -> None:
    proxy.serve_with(certificates.good)


_GONE = "BrokerUnavailable"
_REFUSED = "RefusedByBroker"
_ALL: tuple[Breakage, ...] = (
    # How often it is tried is counted in tests/unit/broker/test_how_often.py, at the side that knocks.
    Breakage("refused", _GONE, None, lambda proxy, _: proxy.refuse(), lambda proxy, _: proxy.accept()),
    _all("reset", _GONE, broker_faults.reset),
    _all("reset mid-body", _GONE, broker_faults.reset_mid_body),
    _all("30 s of silence", _GONE, broker_faults.silence(30), AWAY),
    _all("401", "BrokerUnauthorized", status(401)),
    _all("403", "BrokerForbidden", status(403)),
    _all("404 tenant", "TenantNotFound", status(404, _says("Tenant does not exist"))),
    _all("404 namespace", "NamespaceNotFound", status(404, _says("Namespace does not exist"))),
    _schemas("404 topic", "TopicNotFound", status(404, _says("Topic x not found"))),
    _all("404 page", _GONE, broker_faults.html(404)),
    _all("409 meanwhile", _GONE, status(409, _says("Concurrent modification"))),
    _writes("409", _REFUSED, status(409), on_deletion=_GONE),
    _all("412", _GONE, status(412, _says("Topic is not owned here"))),
    _writes("412 not valid", _REFUSED, status(412, _says("Topic name is not valid"))),
    _writes("422", _REFUSED, status(422)),
    _all("429", _GONE, status(429)),
    _all("429 for 7 s", _GONE, status(429, retry_after=7)),
    _all("500", _GONE, status(500)),
    _writes("500 for ever", _REFUSED, status(500, _says("Invalid default for field")), on_deletion=_GONE),
    _all("503", _GONE, status(503)),
    _all("503 for 20 s", _GONE, status(503, retry_after=20)),
    _all("HTML", _GONE, broker_faults.html()),
    _all("truncated JSON", _GONE, broker_faults.truncated),
    _all("50 MB", _GONE, broker_faults.huge(50)),
    _all("sent elsewhere", "BrokerNotAllowed", broker_faults.redirect(_ELSEWHERE)),
    Breakage("certificate expired", "BrokerTLSVerificationFailed", ALL, _expired, _trusted, is_tls=True),
    Breakage("certificate of another", "BrokerTLSVerificationFailed", ALL, _of_another_name, _trusted, is_tls=True),
    _writes("stores nothing", "BrokerInconsistent", broker_faults.stores_nothing(1)),
)
_SAMPLE = (
    *("refused", "reset mid-body", "30 s of silence", "401", "403", "404 tenant", "404 namespace", "404 topic", "409"),
    *("422", "429 for 7 s", "503", "truncated JSON", "sent elsewhere", "certificate expired", "stores nothing"),
)
"""One of each kind: of what a person sees, of what fails, and of how the connection ends."""
BREAKAGES = _ALL if IS_FULL else tuple(each for each in _ALL if each.name in _SAMPLE)
