"""Envelopes of real releases whose roots import options of their own, beside those of Pulsar's Java client.

Each jar has the classes that protoc generated, and the sources. It takes longer than most tests: a JVM loads them all.
"""

import json
import zipfile
from functools import cache
from pathlib import Path

import pytest

from differential import oracle
from differential.test_protobuf_sources import ORACLE, sources_in, the_clients, with_imports
from support.sizes import sized
from testbed import maven
from topicschema.protoc import ProtobufSources, compile_envelope

pytestmark = pytest.mark.differential

PUBSUB = "1.100.0 1.102.0 1.102.10 1.102.20 1.103.0 1.104.1 1.105.0 1.105.10 1.106.0 1.107.0 1.107.13 1.108.1 1.109.0"
PUBSUB += " 1.110.0 1.112.0 1.114.0 1.116.0 1.118.0 1.120.0 1.122.0 1.123.5 1.125.1"
LOGGING = "0.84.0 0.86.0 0.88.0 0.90.0 0.92.0 0.94.1 0.95.0 0.96.0 0.98.0 0.99.0 0.101.0 0.102.0 0.103.0 0.104.0"
LOGGING += " 0.105.0 0.106.0 0.108.0 0.109.0 0.110.0 0.111.0 0.112.0"
RELEASES = [
    *(("proto-google-cloud-pubsub-v1", number, "com.google.pubsub.v1.Subscription") for number in PUBSUB.split()),
    *(("proto-google-cloud-logging-v2", number, "com.google.logging.v2.LogEntry") for number in LOGGING.split()),
]
GROUP = "com.google.api.grpc"
ITEM = "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></artifactItem>"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>topicschema.tests</groupId><artifactId>releases</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
<configuration><artifactItems>{}</artifactItems></configuration>
</plugin></plugins></build>
</project>
"""


@cache
def commons() -> dict[str, str]:
    """Return the options of Google's APIs, of the release on the oracle's class path."""
    return dict(sources_in("proto-google-common-protos-*.jar"))


def test_a_release_has_the_envelope_that_the_java_client_makes_of_its_classes(tmp_path: Path) -> None:
    releases = RELEASES[:: sized(16, 1)]
    pom = tmp_path / "pom.xml"
    pom.write_text(POM.format("".join(ITEM.format(GROUP, name, number) for name, number, _ in releases)))
    folder = maven.jars(pom, goal="copy")
    jars = [folder / f"{name}-{number}.jar" for name, number, _ in releases]
    requests = [
        {"op": "class", "name": root, "classes": str(jar)} for jar, (_, _, root) in zip(jars, releases, strict=True)
    ]
    for jar, answer in zip(jars, oracle.query(requests, ORACLE), strict=True):
        assert answer["verdict"] is True, (jar.name, answer)
        envelope = json.loads(answer["envelope"])
        with zipfile.ZipFile(jar) as opened:
            own = {name: opened.read(name).decode() for name in opened.namelist() if name.endswith(".proto")}
        files = with_imports(envelope["rootFileDescriptorName"], {**the_clients(), **own, **commons()})
        assert "google/protobuf/descriptor.proto" in files
        sources = {name: text for name, text in files.items() if name not in the_clients()}
        compiled = compile_envelope(ProtobufSources(envelope["rootMessageTypeName"], sources))
        assert compiled.decode() == answer["envelope"], jar.name
