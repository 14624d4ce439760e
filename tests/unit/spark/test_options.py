"""Options of the data sources: each mistake is an error that names the option and what to write."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from topicschema.core.topics import Topic
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.options import ReadOptions

BROKER = {"adminUrl": "http://pulsar:8080", "serviceUrl": "pulsar://pulsar:6650"}
TOPIC = {"topics": "persistent://shop/live/orders"}
NOW = 1_800_000_000_000


def parsed(**values: str) -> ReadOptions:
    return ReadOptions.of({**BROKER, **(values if {"topicsPattern", "namespace"} & set(values) else TOPIC | values)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"adminUrl": ""}, "option adminUrl: ''; write http://HOST:PORT or https://HOST:PORT"),
        ({"serviceUrl": "http://x"}, "option serviceUrl: 'http://x'; write pulsar://HOST:PORT or pulsar"),
        ({"adminUrl": "http://me:secret@x"}, "option adminUrl: a URL with a user's name would show it"),
        ({"topics": "a,,b"}, "option topics: 'a,,b' has an empty item"),
        ({"topics": "orders"}, "option topics: 'orders' is not a topic name"),
        ({"namespace": "shop"}, "option namespace: 'shop' is not a Pulsar namespace: write TENANT/NAMESPACE"),
        ({"topicsPattern": "orders.*"}, "option topicsPattern: 'orders.*'; write persistent://TENANT/NAMESPACE/REGEX"),
        ({"topicsPattern": "persistent://a/b/("}, "option topicsPattern: '(' is no regular expression"),
        ({"since": "yesterday"}, "option since: 'yesterday'; write a time such as 2026-01-31T12:00:00Z, or an age"),
        ({"columns": "topic,,"}, "option columns: 'topic,,' has an empty item"),
        ({"failOnDataLoss": "no"}, "option failOnDataLoss: 'no'; write true or false"),
        ({"maxBytesPerPartition": "0"}, "option maxBytesPerPartition: '0'; write a number of bytes, for example 64m"),
        ({"maxBytesPerTrigger": "many"}, "option maxBytesPerTrigger: 'many'; write a number of bytes"),
        ({"caFile": "/nowhere/ca.pem"}, "option caFile: /nowhere/ca.pem: No such file"),
        ({"oauth2IssuerUrl": "https://id"}, "option oauth2ClientId is missing: oauth2IssuerUrl needs it"),
        ({"topic": "x"}, "option topic does not exist. The options are adminUrl, serviceUrl, topics"),
        (
            {"Token": "secret"},
            "option Token: Spark shows options in plans and its UI. Write the credential",
        ),
    ],
)
def test_a_mistake_names_the_option_and_what_to_write(values: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOptionError) as raised:
        parsed(**values)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("values", [{}, TOPIC | {"namespace": "shop/live"}])
def test_exactly_one_option_selects_topics(values: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match="exactly one of the options topics, topicsPattern and namespace"):
        ReadOptions.of(BROKER | values)


def test_names_of_options_are_case_insensitive_as_in_spark() -> None:
    lower = {name.lower(): value for name, value in (BROKER | TOPIC).items()}
    assert ReadOptions.of(lower) == parsed()


def test_topics_are_selected_by_name_namespace_or_pattern() -> None:
    assert parsed().selection.topics == (Topic("shop", "live", "orders"),)
    assert [key.pulsar_namespace for key in parsed(namespace="a/b, c/d").selection.namespaces] == ["a/b", "c/d"]
    of_pattern = parsed(topicsPattern="persistent://shop/live/order-.*/?").selection
    assert ([key.pulsar_namespace for key in of_pattern.namespaces], of_pattern.pattern) == (
        ["shop/live"],
        "order-.*/?",
    )


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("24h", NOW - 86_400_000),
        ("90s", NOW - 90_000),
        ("2026-01-31T12:00:00Z", 1_769_860_800_000),
        ("2026-01-31T13:00:00.5+01:00", 1_769_860_800_500),
        ("2026-01-31 12:00", 1_769_860_800_000),  # without a zone: UTC
    ],
)
def test_a_time_is_absolute_or_an_age_at_the_time_of_the_plan(text: str, at: int) -> None:
    moment = parsed(since=text).since
    assert moment is not None
    assert moment.at(NOW) == at
    assert datetime.fromtimestamp(at / 1000, UTC).year >= 2026


@pytest.mark.parametrize(("text", "size"), [("64m", 64 << 20), ("1g", 1 << 30), ("10KB", 10 << 10), ("5", 5)])
def test_a_size_has_the_units_of_spark(text: str, size: int) -> None:
    assert parsed(maxBytesPerTrigger=text).max_bytes_per_trigger == size


def test_credentials_are_named_and_not_contained(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    values: Any = {"tokenFile": str(tmp_path / "token"), "tokenVariable": "PULSAR_TOKEN"}
    options = parsed(**values)
    assert (options.pulsar.token_file, options.pulsar.token_variable) == tuple(values.values())
    assert "secret" not in repr(options)
