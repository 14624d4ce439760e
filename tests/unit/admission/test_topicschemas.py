from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, TOPIC, V0, World, record_schema, wanted_topic
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.history import Owner
from topicschema.core.topics import PulsarNamespaceKey

COMPATIBLE = record_schema(ID, NOTE_WITH_DEFAULT)
INCOMPATIBLE = record_schema(ID, NOTE)
TWICE_INCOMPATIBLE = record_schema(ID, NOTE, {"name": "count", "type": "int"})


async def test_a_first_schema_is_allowed_without_warnings(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    reply = await world.create()
    assert reply.is_allowed
    assert reply.warnings == []


async def test_an_edit_that_passes_the_strategy_is_allowed(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")
    await world.versions(V0)
    assert (await world.create(COMPATIBLE)).is_allowed


async def test_a_refusal_is_422_invalid_with_one_cause_per_incompatibility_in_order(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    refusal = (await world.create(TWICE_INCOMPATIBLE)).refusal
    assert (refusal["code"], refusal["reason"]) == (422, "Invalid")
    details = refusal["details"]
    assert (details["name"], details["kind"], details["group"]) == ("created", "TopicSchema", "topicschema.io")
    places = [cause["message"].split(":")[0] for cause in details["causes"]]
    assert places == ["FIELD_WITHOUT_DEFAULT at $.fields[1]", "FIELD_WITHOUT_DEFAULT at $.fields[2]"]
    assert {cause["field"] for cause in details["causes"]} == {"spec.schema"}


async def test_message_and_every_cause_stand_alone(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    refusal = (await world.create(TWICE_INCOMPATIBLE)).refusal
    for text in (refusal["message"], *(cause["message"] for cause in refusal["details"]["causes"])):
        for word in (
            "FIELD_WITHOUT_DEFAULT",
            "$.fields[",
            "BACKWARD",
            "set by policy orders",
            "version 0",
            "consumers with this schema read messages",
            "give it a default",
        ):
            assert word in text
    assert "$.fields[1]" in refusal["message"]
    assert "$.fields[2]" in refusal["message"]


async def test_a_topic_s_own_strategy_is_named_as_such(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="FORWARD")
    await world.versions(V0)
    reply = await world.create(INCOMPATIBLE, schemaCompatibilityStrategy="FULL")
    assert "FULL (set by spec.schemaCompatibilityStrategy)" in reply.causes[0]["message"]


async def test_without_any_strategy_the_broker_s_own_decides_and_is_named(world: World) -> None:
    await world.policy(brokerProfile={"line": "4.0", "schemaCompatibilityStrategy": "BACKWARD"})
    await world.versions(V0)
    reply = await world.create(INCOMPATIBLE)
    assert "BACKWARD (the broker's own, by policy orders)" in reply.causes[0]["message"]


async def test_a_transitive_strategy_looks_at_every_version(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")
    await world.versions(V0, COMPATIBLE)
    assert not (await world.create(INCOMPATIBLE)).is_allowed


async def test_a_latest_only_strategy_reads_one_payload(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0, COMPATIBLE)
    world.api.requests.clear()
    assert (await world.create(INCOMPATIBLE)).is_allowed
    assert sum("/schemaversions/" in request for request in world.api.requests) == 1


async def test_a_schema_that_is_on_record_needs_no_payload(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    world.api.requests.clear()
    assert (await world.create()).is_allowed
    assert not any("/schemaversions/" in request for request in world.api.requests)


async def test_a_rollback_is_allowed_and_tells_that_the_latest_does_not_move(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0, COMPATIBLE)
    reply = await world.create(V0)
    assert reply.is_allowed
    assert reply.warnings == ["this is version 0 again: no version is added, and version 1 stays the topic's latest"]


async def test_an_edit_of_docs_alone_tells_that_the_stored_text_stays(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    reply = await world.create(record_schema({**ID, "doc": "the order's number"}))
    assert reply.is_allowed
    assert "what is stored stays as it was" in reply.warnings[0]


async def test_a_strategy_that_checks_nothing_is_warned_of(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    await world.versions(V0)
    reply = await world.create(INCOMPATIBLE)
    assert reply.is_allowed
    assert reply.warnings == ["nothing was checked: the strategy is ALWAYS_COMPATIBLE (set by policy orders)"]


async def test_every_broken_constraint_is_a_cause_at_its_field(world: World) -> None:
    limits = {"allowedTypes": ["JSON"], "requiredProperties": ["owner"], "maxSchemaBytes": 10}
    await world.policy(constraints={**limits, "allowedStrategies": ["FULL"]})
    reply = await world.create(schemaCompatibilityStrategy="BACKWARD")
    assert [cause["field"] for cause in reply.causes] == [
        "spec.type",
        "spec.schemaCompatibilityStrategy",
        "spec.properties",
        "spec.schema",
    ]
    assert reply.rules == ["TYPE_NOT_ALLOWED", "STRATEGY_NOT_ALLOWED", "PROPERTY_MISSING", "SCHEMA_TOO_LARGE"]
    assert all("policy orders" in cause["message"] for cause in reply.causes)


async def test_another_type_is_refused_with_the_version_that_has_the_first(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="FULL")
    await world.versions(V0)
    reply = await world.create("", type="STRING")
    assert reply.rules == ["TYPE_CHANGED"]
    assert "version 0" in reply.causes[0]["message"]


async def test_without_a_policy_an_edit_is_admitted_with_a_warning(world: World) -> None:
    reply = await world.create()
    assert reply.is_allowed
    assert reply.warnings[0].startswith("PolicyNotFound: ")


async def test_a_schema_that_does_not_parse_is_refused_without_a_policy_too(world: World) -> None:
    assert (await world.create("{")).rules == ["SYNTAX"]


async def test_a_policy_that_holds_no_claim_yet_judges_nothing(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    await world.claim(None)
    reply = await world.create(INCOMPATIBLE)
    assert reply.is_allowed
    assert "has not claimed shop/orders yet" in reply.warnings[0]


async def test_a_policy_whose_claim_another_team_holds_judges_nothing_and_names_nobody(world: World) -> None:
    await world.policy()
    await world.claim(Owner("rival", "secret-name", "u"))
    reply = await world.create()
    assert reply.is_allowed
    assert reply.warnings[0].startswith("TopicAlreadyClaimed: ")
    assert "rival" not in reply.warnings[0]
    assert "secret-name" not in reply.warnings[0]


async def test_an_edit_under_suspend_is_judged(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    assert not (await world.edit(world.resource(), schema=INCOMPATIBLE, suspend=True)).is_allowed


async def test_suspending_a_schema_that_the_policy_would_no_longer_take_is_let_through(world: World) -> None:
    await world.policy(constraints={"requiredProperties": ["owner"]})
    await world.versions(V0)
    reply = await world.edit(world.resource(), suspend=True)
    assert reply.is_allowed
    assert "PROPERTY_MISSING" in reply.warnings[0]


async def test_an_unchanged_spec_is_allowed_without_any_read(world: World) -> None:
    old = world.resource(schema="not a schema")
    world.api.requests.clear()
    assert (await world.edit(old)).is_allowed
    assert world.api.requests == []


async def test_a_deletion_and_what_is_being_deleted_are_never_judged(world: World) -> None:
    old = world.resource()
    assert (await world.ask(None, old, "DELETE")).is_allowed
    going = {**old, "metadata": {**old["metadata"], "deletionTimestamp": "2026-11-21T05:30:00Z"}}
    assert (await world.edit(going, schema="not a schema")).is_allowed


async def test_a_policy_made_stricter_counts_for_the_very_next_review(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="FORWARD")
    await world.versions(V0)
    assert (await world.create(INCOMPATIBLE)).is_allowed
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    assert not (await world.create(INCOMPATIBLE)).is_allowed


async def test_a_version_registered_since_counts_for_the_very_next_review(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    assert (await world.create(INCOMPATIBLE)).is_allowed
    await world.versions(V0)
    assert not (await world.create(INCOMPATIBLE)).is_allowed


async def test_a_policy_replaced_by_one_of_another_name_is_found(world: World) -> None:
    await world.policy("first", schemaCompatibilityStrategy="FORWARD")
    await world.versions(V0)
    assert (await world.create(INCOMPATIBLE)).is_allowed
    world.api.take_away(NAMESPACE_SCHEMA_POLICY, "shop", "first")
    await world.policy("second", schemaCompatibilityStrategy="BACKWARD")
    assert "set by policy second" in (await world.create(INCOMPATIBLE)).causes[0]["message"]


async def test_a_damaged_record_refuses_and_says_so(world: World) -> None:
    await world.policy()
    await world.versions(V0)
    (name,) = await world.storage.history_names(PulsarNamespaceKey("pulsar", "shop", "orders"))
    world.api.change(f"schemahistories/{name}", lambda wire: wire["spec"].update(versions=["rubbish"]))
    assert (await world.create()).rules == ["RecordDamaged"]


async def test_many_incompatibilities_are_capped_and_counted(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    fields = [{"name": f"f{number}", "type": "int"} for number in range(300)]
    reply = await world.create(record_schema(ID, *fields))
    assert len(reply.causes) == 101
    assert reply.causes[-1]["message"] == "and 200 more like these"
    assert len(reply.refusal["message"]) < 10_000
    assert " more" in reply.refusal["message"]


async def test_dry_runs_and_generated_names_are_judged_alike(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(V0)
    wanted = wanted_topic({"topic": TOPIC, "type": "AVRO", "schema": INCOMPATIBLE}, "created-x7k2p")
    assert (await world.ask(wanted)).rules == ["FIELD_WITHOUT_DEFAULT"]


async def test_an_edit_of_a_topic_whose_history_is_lost_is_warned_of(world: World) -> None:
    await world.policy()
    old = {**world.resource(schema=V0), "status": {"observedGeneration": 1, "versionCount": 3}}
    reply = await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))
    assert reply.is_allowed
    assert reply.warnings[0].startswith("HistoryLost: the status has 3 versions, the history none")


async def test_an_edit_of_a_topic_whose_record_is_an_older_one_is_warned_of(world: World) -> None:
    await world.policy()
    old = {**world.resource(schema=V0), "status": {"observedGeneration": 1, "incarnation": 0, "versionCount": 3}}
    await world.versions(V0, claim=Owner("shop", "created", old["metadata"]["uid"]))
    reply = await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))
    assert reply.is_allowed
    assert reply.warnings[0].startswith("HistoryLost: the status has 3 versions, the history 1; admitted")
    restored = {**old, "status": {**old["status"], "versionCount": 1}}
    assert (await world.edit(restored, schema=record_schema(ID, NOTE_WITH_DEFAULT))).warnings == []


async def test_an_edit_of_a_topic_that_its_broker_lost_is_answered_with_that_first(world: World) -> None:
    await world.policy(pulsar={"adminURL": "http://pulsar.example:8080"})
    lost = "the broker has no schema of it any more, which topic shop/orders/created had"
    stalled = {"type": "Stalled", "status": "True", "reason": "HistoryLost", "message": lost}
    old = {**world.resource(schema=V0), "status": {"observedGeneration": 1, "conditions": [stalled]}}
    await world.versions(V0, claim=Owner("shop", "created", old["metadata"]["uid"]))
    refused = await world.edit(old, type="STRING", schema="")
    assert refused.rules == ["HistoryLost", "TYPE_CHANGED"]
    assert refused.causes[0]["message"] == f"HistoryLost: {lost}"
    allowed = await world.edit(old, schema=record_schema(ID, NOTE_WITH_DEFAULT))
    assert allowed.is_allowed
    assert allowed.warnings[0] == f"HistoryLost: {lost}"
