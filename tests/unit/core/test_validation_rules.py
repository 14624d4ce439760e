import pytest

from topicschema.core.validation_rules import SampleLimits, ValidationMode, ValidationRules, relaxations, seconds

OFF, REPORT, GATE = ValidationMode.OFF, ValidationMode.REPORT, ValidationMode.GATE
MODE, TOLERANCE = (
    ("VALIDATION_MODE_RELAXED", "mode"),
    ("VALIDATION_TOLERANCE_RELAXED", "tolerance.maxInvalidPerMillion"),
)
MESSAGES, PERCENT, SINCE = (("VALIDATION_SAMPLE_RELAXED", f"sample.{n}") for n in ("maxMessages", "percent", "since"))
SAMPLED = ValidationRules(GATE, 10, SampleLimits(1000, 50, "7d"))


@pytest.mark.parametrize(
    ("topic", "policy", "expected"),
    [
        (ValidationRules(), SAMPLED, []),
        (ValidationRules(OFF), ValidationRules(REPORT), [MODE]),
        (ValidationRules(REPORT), ValidationRules(GATE), [MODE]),
        (ValidationRules(GATE), ValidationRules(REPORT), []),
        (ValidationRules(max_invalid_per_million=1), ValidationRules(GATE), [TOLERANCE]),
        (ValidationRules(max_invalid_per_million=11), SAMPLED, [TOLERANCE]),
        (ValidationRules(max_invalid_per_million=10), SAMPLED, []),
        (ValidationRules(sample=SampleLimits(1, 1, "1s")), ValidationRules(GATE), [MESSAGES, PERCENT, SINCE]),
        (ValidationRules(sample=SampleLimits(999, 49, "167h")), SAMPLED, [MESSAGES, PERCENT, SINCE]),
        (ValidationRules(sample=SampleLimits(1000, 50, "168h")), SAMPLED, []),
        (ValidationRules(sample=SampleLimits()), SAMPLED, []),
        (ValidationRules(sample=SampleLimits(percent=100)), ValidationRules(GATE), []),
        (ValidationRules(GATE, 5, SampleLimits(1)), ValidationRules(OFF), []),
        (ValidationRules(GATE, 5, SampleLimits(1)), ValidationRules(), []),
    ],
)
def test_a_topic_relaxes_a_policy_by_each_field_that_accepts_more(
    topic: ValidationRules, policy: ValidationRules, expected: list[tuple[str, str]]
) -> None:
    results = relaxations(topic, policy)
    assert [(each.rule, each.path) for each in results] == [
        (rule, f"spec.validation.{path}") for rule, path in expected
    ]


def test_a_refusal_names_the_policys_value_and_the_topics() -> None:
    messages = [each.message for each in relaxations(ValidationRules(REPORT, sample=SampleLimits(since="1h")), SAMPLED)]
    assert [message.partition(" is weaker")[0] for message in messages] == [
        "the policy has Gate here, and Report",
        "the policy has 7d here, and 1h",
    ]


def test_durations_are_seconds() -> None:
    assert [seconds(each) for each in (None, "5s", "2m", "168h", "1d")] == [None, 5, 120, 604_800, 86_400]
