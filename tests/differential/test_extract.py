"""`topicschema extract` for classes of Java, beside what the client of an application sends for them."""

import base64
import json
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from differential import oracle
from support.command_line import run
from testbed import maven
from topicschema.cli.extract import java_class
from topicschema.core.schemas import SchemaType

pytestmark = pytest.mark.differential

CLASSES = oracle.CLIENT.with_name("OwnClasses.java")
POM = CLASSES.with_name("pom.xml")


def test_each_class_has_the_schema_and_the_properties_of_the_client() -> None:
    class_path = [str(maven.classes(CLASSES, POM)), f"{maven.jars(POM)}/*"]
    expected = defaultdict[tuple[str, ...], list[tuple[str, str, str]]](list)
    for line in maven.run_java(CLASSES).splitlines():
        own, kind, allows_null, jsr310, text, properties = line.split(" ", 5)
        expected[kind, allows_null, jsr310].append((own, base64.b64decode(text).decode(), properties))
    assert {len(each) for each in expected.values()} == {21}
    for (kind, allows_null, jsr310), classes in expected.items():
        infos = java_class.schemas(
            class_path,
            [own for own, _, _ in classes],
            SchemaType(kind),
            always_allow_null=allows_null == "true",
            jsr310=jsr310 == "true",
        )
        for info, (own, text, properties) in zip(infos, classes, strict=True):
            shown = ", ".join(f"{name}={value}" for name, value in sorted(info.properties.items()))
            assert (info.schema.decode(), f"{{{shown}}}") == (text, properties), own


def test_a_class_in_a_jar_becomes_an_upload_and_a_resource(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "orders.jar", "w") as jar:
        for each in maven.classes(CLASSES, POM).glob("*.class"):
            jar.write(each, each.name)
    arguments = ("extract", "--jar", "orders.jar", "--classname", "OwnClasses$Point")
    client = ("--jar", f"{maven.jars(POM)}/*")
    upload = json.loads(run(tmp_path, *arguments, *client, "--type", "JSON", "--property", "owner=team-a").stdout)
    assert upload["type"] == "JSON"
    assert [each["name"] for each in json.loads(upload["schema"])["fields"]] == ["label", "x"]
    own = {"owner": "team-a", "__alwaysAllowNull": "true", "__jsr310ConversionEnabled": "false"}
    assert upload["properties"] == own
    (tmp_path / "upload.json").write_text(json.dumps(upload))
    assert run(tmp_path, "check", "--history", "upload.json", "upload.json").returncode == 0

    absent = run(tmp_path, *arguments[:-1], "shop.Absent", *client)
    assert (absent.returncode, "the class is not on the class path" in absent.stderr) == (2, True), absent.stderr
    alone = run(tmp_path, *arguments)
    assert (alone.returncode, "Pulsar's client is not on the class path" in alone.stderr) == (2, True), alone.stderr
