"""Paths and bodies as the broker reads them. tests/cluster/test_registry.py compares the answers with a broker's."""

import pytest

from topicschema.registry.answers import RestError
from topicschema.registry.requests import target_of, version_of


@pytest.mark.parametrize(
    ("path", "registry", "parts", "call"),
    [
        ("/admin/v2/schemas/t/n/x/schema", "", ("t", "n", "x"), ("schema",)),
        ("/prod/admin/v2/schemas/t/n/x/schema/1?a=b", "prod", ("t", "n", "x"), ("schema", "1")),
        ("/admin/v2/schemas/t/n/a%252Fb%2520c/schemas/", "", ("t", "n", "a/b c"), ("schemas",)),
        ("/admin/v2/schemas/t/n/a%2Bb-partition-12/schema", "", ("t", "n", "a b"), ("schema",)),
        ("/p%2Fq/admin/v2/namespaces/t/n/isAllowAutoUpdateSchema", "p/q", ("t", "n"), ("isAllowAutoUpdateSchema",)),
    ],
)
def test_a_path_names_its_registry_its_topic_and_a_call(
    path: str, registry: str, parts: tuple[str, ...], call: tuple[str, ...]
) -> None:
    target = target_of(path).named()
    assert (target.registry, target.parts, target.call) == (registry, parts, call)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/admin", 404),
        ("/admin/v2", 404),
        ("/admin/v2/schemas", 404),
        ("/admin/v2/schemas/t/n", 404),
        ("/admin/v3/schemas/t/n/x/schema", 404),
        ("/admin/v2/tenants/t/n/x", 404),
        ("/admin/v2/schemas/t/../x/schema", 412),
        ("/admin/v2/schemas/t/n//schema", 404),
        ("//admin/v2/schemas/t/n/x/schema", 404),
        ("/admin/v2/schemas/t/n/a%2F/schema", 412),
        ("/admin/v2/schemas/t/n/%20/schema", 412),
        ("/admin/v2/schemas/t/n/%25/schema", 500),
        ("/admin/v2/schemas/t/n/%/schema", 400),
    ],
)
def test_other_paths_are_refused(path: str, status: int) -> None:
    with pytest.raises(RestError) as refused:
        target_of(path).named()
    assert refused.value.status == status


def test_a_long_number_is_no_version() -> None:
    assert version_of("+" + "0" * 5_000 + "7") == 7
    with pytest.raises(RestError):
        version_of("9" * 5_000)
