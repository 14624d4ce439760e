"""The resources and the code of docs/understand-schemas.md, with a broker where only Git adds schemas.

A line of the page that ends with a comment assigns the value that the comment has. The JVM takes some seconds.
"""

import re
import runpy
from pathlib import Path

import pulsar as python
import pytest
import yaml

from broker.clients.attempts import JAVA_CLIENT
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import BrokeredTopic
from testbed import maven
from testbed.paths import REPOSITORY

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]

PAGE = (REPOSITORY / "docs" / "understand-schemas.md").read_text()
TOPIC = re.compile(r'"persistent://shop/orders/([\w-]+)"')
VALUE = re.compile(r"^(?:[\w<>]+ )?(\w+) = .*?(?://|#) (.+)$", re.MULTILINE)
PROGRAM = """package shop.orders;

import org.apache.pulsar.client.api.*;
import org.apache.pulsar.client.api.schema.*;
import org.apache.pulsar.common.schema.*;

class Examples {
    public static void main(String[] arguments) throws Exception {
        String topics = arguments[1];
        try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build()) {
%s
        }
    }
}
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def java() -> str:
    """Return a program of the page's examples, each in a scope of its own, that prints the values with a comment."""
    classes = [
        each.partition("\n\n")[2].replace("public class", "class") for each in blocks("java") if "class " in each
    ]
    examples = [VALUE.sub(r"\g<0>\nSystem.out.println(\1);", each) for each in blocks("java") if "class " not in each]
    scopes = "\n".join(f"{{\n{each}}}" for each in examples)
    return PROGRAM % TOPIC.sub(r'topics + "\1"', scopes) + "\n".join(classes)


async def test_the_clients_of_the_page_use_the_versions_of_its_resources(shop: BrokeredShop, tmp_path: Path) -> None:
    if (reason := maven.why_absent()) is not None:
        pytest.skip(f"no Java client: {reason}")
    shop.govern(schemaCompatibilityStrategy="FULL", isAllowAutoUpdateSchema=False, unmanagedTopics={"exempt": ["*"]})
    await shop.policy_ready("Active")
    topics = []
    for block in blocks("yaml"):
        spec = yaml.safe_load(block)["spec"]
        topics.append(BrokeredTopic(shop, spec.pop("topic").rpartition("/")[2]))
        topics[-1].put(spec.pop("schema", ""), **spec)
    for topic in topics:
        await topic.ready()

    program = tmp_path / "shop.orders.Examples.java"
    program.write_text(java())
    prefix = f"persistent://{shop.pulsar_namespace}/"
    printed = maven.run_java(program, shop.pulsar.service_url, prefix, pom=JAVA_CLIENT).splitlines()
    assert printed == [value for each in blocks("java") for _, value in VALUE.findall(each)] != []

    [script] = blocks("python")
    file = tmp_path / "examples.py"
    file.write_text(TOPIC.sub(rf'"{prefix}\1"', script))
    client = python.Client(shop.pulsar.service_url)
    try:
        variables = runpy.run_path(str(file), {"client": client})
    finally:
        client.close()
    assert {name: str(variables[name]) for name, _ in VALUE.findall(script)} == dict(VALUE.findall(script)) != {}
    assert {tuple(topic.rest.versions()) for topic in topics} == {(0,)}
