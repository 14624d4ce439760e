"""What brokers answer, and what is made of each answer: our error, and how often it is asked. At the wire, by hand.

What docs/broker.md says of the same is compared with it in tests/unit/broker.
"""

from collections.abc import Awaitable, Callable

from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
    RefusedByBrokerError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.core.errors import StalledAtBrokerError, TopicSchemaError
from topicschema.core.remote import NamespaceSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

TOPIC = Topic("shop", "orders", "created")
KEY = PulsarNamespaceKey("main", "shop", "orders")
TEXT = SchemaInfo(SchemaType.STRING)
SECRET = "a text that must not be repeated"  # noqa: S105 - it stands for a schema

Ask = Callable[[Broker], Awaitable[object]]


async def read(broker: Broker) -> object:
    return await broker.latest(TOPIC)


async def upload(broker: Broker) -> object:
    return await broker.upload(TOPIC, TEXT)


async def delete(broker: Broker) -> object:
    return await broker.soft_delete(TOPIC)


async def write(broker: Broker) -> object:
    return await broker.set_namespace(KEY, NamespaceSettings(strategy=Strategy.FULL))


async def topic(broker: Broker) -> object:
    return await broker.topic_settings(TOPIC, "persistent")


def reason(text: str) -> dict[str, str]:
    return {"reason": text}


def page(status: int, message: str) -> dict[str, str]:
    return {"servlet": "s-7f3c", "message": message, "url": "/admin/v2", "status": str(status)}


def crash(message: str, stack: str = "java.lang.RuntimeException: x") -> dict[str, str]:
    banner = "\n --- An unexpected error occurred in the server ---\n\n"
    return reason(f"{banner}Message: {message}\n\nStacktrace:\n\n{stack}")


BAD_DEFAULT = f'Invalid default for field x: "{SECRET}" not a "int"'
AVRO = "org.apache.avro.AvroTypeException: x"
UNREADABLE = (
    f"Error during check: org.apache.avro.SchemaValidationException: Unable to read schema: \n{{ &quot;{SECRET}"
)
AWAY, FORBIDDEN, UNKNOWN = BrokerUnavailableError, BrokerForbiddenError, BrokerUnauthorizedError
REFUSED = RefusedByBrokerError

Row = tuple[Ask, int, object, type[TopicSchemaError], int]
# What is asked, status, body, our error, how often it is sent.
TABLE: list[Row] = [
    (read, 401, page(401, "Authentication required"), UNKNOWN, 1),
    (read, 401, reason("Token expired"), UNKNOWN, 1),
    (read, 401, reason("This operation requires super-user access"), FORBIDDEN, 1),
    (read, 401, reason("Unauthorized to validateTopicOperation for operation [GET_METADATA] on topic"), FORBIDDEN, 1),
    (delete, 401, reason("Don't have permission to administrate resources on this tenant"), FORBIDDEN, 1),
    (write, 403, reason("Unauthorized to validateNamespacePolicyOperation for operation [WRITE]"), FORBIDDEN, 1),
    (read, 403, "<html>blocked by the gateway</html>", FORBIDDEN, 1),
    (read, 404, reason("Tenant does not exist"), TenantNotFoundError, 1),
    (delete, 404, reason("Tenant not found"), TenantNotFoundError, 1),
    (write, 404, reason("Namespace does not exist"), NamespaceNotFoundError, 1),
    (topic, 404, reason("Namespace not found"), NamespaceNotFoundError, 1),
    (topic, 404, reason("Topic persistent://shop/orders/created not found"), TopicNotFoundError, 1),
    (read, 404, page(404, "Not Found"), AWAY, 1),
    (read, 404, "", AWAY, 1),
    (read, 404, "<html>Topic x not found, Schema not found</html>", AWAY, 1),
    (upload, 409, page(409, UNREADABLE), REFUSED, 1),
    (upload, 409, "", REFUSED, 1),
    (write, 409, reason("Concurrent modification"), AWAY, 2),
    (upload, 409, reason("Concurrent modification"), AWAY, 2),
    (delete, 409, reason("Concurrent modification"), AWAY, 1),
    (read, 412, reason("Topic name is not valid"), REFUSED, 1),
    (read, 412, reason("Failed to find ownership for topic"), AWAY, 2),
    (upload, 413, "too large", REFUSED, 1),
    (upload, 422, page(422, f"Invalid schema definition data for string schema : &apos;{SECRET}&apos;"), REFUSED, 1),
    (upload, 400, f"Unexpected character at {SECRET}", REFUSED, 1),
    (write, 405, page(405, "Method Not Allowed"), REFUSED, 1),
    (read, 405, page(405, "Method Not Allowed"), AWAY, 1),
    (topic, 405, reason("Topic level policies is disabled, to enable the topic level policy and retry."), REFUSED, 1),
    (read, 406, "", AWAY, 1),
    (read, 408, "slow", AWAY, 2),
    (read, 429, "slow down", AWAY, 2),
    (upload, 500, crash(BAD_DEFAULT, AVRO), REFUSED, 1),
    (upload, 500, crash("Type not supported: object"), REFUSED, 1),
    (upload, 500, crash("Can not resolve JsonSchema 'type' id"), REFUSED, 1),
    (upload, 500, crash("No enum constant org.apache.pulsar.SchemaType.NOPE"), REFUSED, 1),
    (upload, 500, crash("null", "java.lang.NullPointerException: null"), REFUSED, 1),
    (upload, 500, crash("null", "java.lang.StackOverflowError: null"), REFUSED, 1),
    (upload, 500, crash("Not enough non-faulty bookies available"), AWAY, 2),
    (read, 500, crash("Not enough non-faulty bookies available"), AWAY, 2),
    (read, 500, crash(BAD_DEFAULT, AVRO), AWAY, 2),
    (delete, 500, crash("metadata store is away"), AWAY, 1),
    (read, 502, "<html>bad gateway</html>", AWAY, 2),
    (read, 503, "<html>starting</html>", AWAY, 2),
    (delete, 503, "", AWAY, 1),
    (upload, 504, "", AWAY, 2),
    (read, 302, "elsewhere", AWAY, 1),
    (read, 200, "<html>a login page</html>", AWAY, 1),
    (read, 200, '{"version": 1, "type": "AV', AWAY, 1),
    (read, 200, "[" * 100_000, AWAY, 1),
    (read, 200, {"version": 1}, AWAY, 1),
    (read, 200, "", AWAY, 1),
    (read, 200, [], AWAY, 1),
    (read, 200, {"version": 0, "type": "EXTERNAL", "data": SECRET}, StalledAtBrokerError, 1),
    (upload, 200, {"version": True}, AWAY, 1),
    (upload, 200, "", AWAY, 1),
]
