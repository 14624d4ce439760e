import pytest

from topicschema.api.store import claim_name, history_name
from topicschema.core.errors import StalledError
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey, matches_glob


def test_three_dots_are_a_name_as_any_other() -> None:
    assert Topic.parse("persistent://.../.a/..b") == Topic("...", ".a", "..b")
    assert PulsarNamespaceKey.parse("pulsar", ".../..a").pulsar_namespace == ".../..a"


def test_both_domains_name_one_history_as_pulsar_keeps_it() -> None:
    assert Topic.parse("persistent://a/b/c") == Topic.parse("non-persistent://a/b/c")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("orders", "exactly these three parts"),
        ("shop/orders/created", "exactly these three parts"),
        ("persistent://shop/cluster/orders/created", "exactly these three parts"),
        ("persistent://shop/orders/", "exactly these three parts"),
        ("Persistent://shop/orders/created", "exactly these three parts"),
        ("persistent://sh op/orders/created", "the tenant may have"),
        ("persistent://shop/ord*rs/created", "the namespace may have"),
        ("persistent://shop/orders/a b", "a space or a control character"),
        ("persistent://shop/orders/a\x00", "a space or a control character"),
        ("persistent://shop/orders/a%20b", "without %XX escapes"),
        ("persistent://shop/orders/created-partition-3", "its partitions share one schema history"),
        ("persistent://shop/orders/__change_events", "keep their own messages"),
        ("persistent://shop/orders/x__transaction_pending_ack", "keep their own messages"),
        ("persistent://./orders/created", "'.' and '..' are no names"),
        ("persistent://shop/../created", "'.' and '..' are no names"),
        ("persistent://shop/orders/.", "'.' and '..' are no names"),
        ("persistent://shop/orders/..", "'.' and '..' are no names"),
        ("persistent://shop/orders/" + "x" * 513, "longer than 512 characters"),
    ],
)
def test_another_spelling_of_a_topic_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(StalledError, match="is not a topic name") as refused:
        Topic.parse(text)
    assert why in refused.value.message
    assert refused.value.reason == "InvalidTopic"


def test_a_scalable_topic_is_refused_with_the_reason() -> None:
    with pytest.raises(StalledError, match="scalable topic, which is not supported") as refused:
        Topic.parse("topic://shop/orders/created")
    assert refused.value.reason == "InvalidTopic"


def test_the_name_of_a_history_never_changes() -> None:
    key = TopicKey("pulsar", Topic("shop", "orders", "created"))
    assert history_name(key) == "h-" + "37813b8fc8" + history_name(key)[12:]
    assert len(history_name(key)) == 42


@pytest.mark.parametrize(
    "text", ["shop", "shop/orders/created", "shop/", "/orders", "sh op/orders", "", "./orders", "shop/.."]
)
def test_what_is_no_pulsar_namespace_is_refused(text: str) -> None:
    with pytest.raises(StalledError) as refused:
        PulsarNamespaceKey.parse("pulsar", text)
    assert refused.value.reason == "InvalidPulsarNamespace"


def test_a_pulsar_namespace_of_another_cluster_has_another_claim() -> None:
    here, there = (PulsarNamespaceKey.parse(cluster, "shop/orders") for cluster in ("here", "there"))
    assert here.pulsar_namespace == there.pulsar_namespace == "shop/orders"
    assert claim_name(here) != claim_name(there)


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("created", ["created"], ["Created", "created-DLQ", ""]),
        ("*-DLQ", ["-DLQ", "created-DLQ", "a-DLQ-DLQ"], ["created-DLQ-2", "DLQ"]),
        ("*", ["", "created", "a.b"], []),
        ("a*b*c", ["abc", "aXbYc", "abbc"], ["ac", "acb", "ab"]),
        ("ab*ba", ["abba", "ab-ba"], ["aba"]),
        ("a.[b]?", ["a.[b]?"], ["axb", "a.bx"]),
    ],
)
def test_an_asterisk_of_a_glob_matches_any_text_and_nothing_else_is_special(
    glob: str, matching: list[str], others: list[str]
) -> None:
    assert [name for name in (*matching, *others) if matches_glob(glob, name)] == matching


def test_a_glob_of_many_asterisks_takes_no_time() -> None:
    assert not matches_glob("*a" * 200 + "b", "a" * 512)
