from pathlib import Path

import pytest

from topicschema.settings import InvalidSettingError, LeaseSettings, ServerSettings, Settings, ValidationSettings


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = Settings.load({})
    assert settings.kubeconfig is None
    assert settings.namespace == "topicschema-system"
    assert settings.lease == LeaseSettings(15.0, 10.0, 2.0)
    assert settings.identity


def test_what_the_environment_names_is_taken() -> None:
    settings = Settings.load(
        {
            "KUBECONFIG": "/kubeconfig",
            "TOPICSCHEMA_NAMESPACE": "schemas",
            "TOPICSCHEMA_LEASE_DURATION": "3",
            "TOPICSCHEMA_LEASE_RENEW_DEADLINE": "2",
            "TOPICSCHEMA_LEASE_RETRY_PERIOD": "0.5",
            "TOPICSCHEMA_PROBE_PORT": "9000",
            "TOPICSCHEMA_LOG_LEVEL": "debug",
            "TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND": "5",
        }
    )
    assert (settings.kubeconfig, settings.namespace) == ("/kubeconfig", "schemas")
    assert settings.lease == LeaseSettings(3.0, 2.0, 0.5)
    assert (settings.probe_port, settings.log_level, settings.broker_requests) == (9000, "DEBUG", 5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE", "nowhere"),
        ("TOPICSCHEMA_LEASE_DURATION", "15s"),
        ("TOPICSCHEMA_LEASE_DURATION", "0"),
        ("TOPICSCHEMA_LEASE_DURATION", "nan"),
        ("TOPICSCHEMA_LEASE_DURATION", "inf"),
        ("TOPICSCHEMA_LEASE_RENEW_DEADLINE", "15"),
        ("TOPICSCHEMA_LEASE_RETRY_PERIOD", "11"),
        ("TOPICSCHEMA_PROBE_PORT", "65536"),
        ("TOPICSCHEMA_PROBE_PORT", "-1"),
        ("TOPICSCHEMA_LOG_LEVEL", "LOUD"),
        ("TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND", "0.5"),
        ("TOPICSCHEMA_VALIDATION_JOBS", "0"),
        ("TOPICSCHEMA_VALIDATION_JOBS_PER_NAMESPACE", "two"),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(InvalidSettingError, match=name.removeprefix("TOPICSCHEMA_LEASE")):
        Settings.load({name: value})


def test_the_webhook_has_its_own_settings() -> None:
    settings = ServerSettings.load({"TOPICSCHEMA_WEBHOOK_CERT": "/c", "TOPICSCHEMA_WEBHOOK_KEY": "/k"})
    assert (settings.certificate, settings.key, settings.port) == (Path("/c"), Path("/k"), 8443)
    assert settings.client_ca is None
    assert ServerSettings.load({"TOPICSCHEMA_WEBHOOK_CLIENT_CA": "/ca"}).client_ca == Path("/ca")
    assert ServerSettings.load({"TOPICSCHEMA_REGISTRY_REQUESTS_PER_SECOND": "7"}).registry_requests == 7
    with pytest.raises(InvalidSettingError, match="TOPICSCHEMA_WEBHOOK_PORT"):
        ServerSettings.load({"TOPICSCHEMA_WEBHOOK_PORT": "https"})


def test_without_an_image_there_is_no_validation_and_the_settings_name_its_namespace_and_limit_jobs() -> None:
    assert Settings.load({}).validation == ValidationSettings("", "", 60.0, "topicschema-validation", 10, 2)
    values = {"IMAGE": "v:1", "NAMESPACE": "readers", "JOBS": "3", "JOBS_PER_NAMESPACE": "1"}
    environment = {f"TOPICSCHEMA_VALIDATION_{name}": value for name, value in values.items()}
    environment |= {"TOPICSCHEMA_SPARK_IMAGE": "s:1", "TOPICSCHEMA_SPARK_FROM_SECONDS": "5"}
    assert Settings.load(environment).validation == ValidationSettings("v:1", "s:1", 5.0, "readers", 3, 1)
