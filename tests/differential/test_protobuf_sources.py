"""The envelopes of sources beside those that Pulsar's Java client makes of the classes generated from them.

They take longer than most tests: protoc, javac and the class path of a release run, or protoc some dozens of times.
"""

import base64
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from differential import oracle
from support.schemas import avro_schemas, proto_sources
from support.sizes import sized
from testbed import maven
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources, compile_envelope

pytestmark = pytest.mark.differential

ORACLE = Path(__file__).parent / "envelope" / "EnvelopeOracle.java"
POMS = {PulsarVersion.V4_0: ORACLE.with_name("pom.xml"), PulsarVersion.V5_0: ORACLE.with_name("pom-5.0.xml")}
"""By the Pulsar version: the Java clients of 4.1 and 4.2 have the protobuf library of 4.0's."""
POM = POMS[PulsarVersion.V4_0]
IMPORTED = re.compile(r'^import (?:public |weak )?"(.*)";', re.MULTILINE)
DESCRIPTOR = "google/protobuf/descriptor.proto"
EVERYTHING = "shop.every_thing.Everything"
EDITIONS = ("shop.Edition2023", "shop.Edition2024")


@cache
def jars(pom: Path = POM) -> Path:
    return maven.jars(pom)


def of_release(release: str, folder: Path) -> Path:
    """Return the pom of Pulsar 4.0's client with that release of protobuf, library and compiler."""
    text, pom = POM.read_text(), folder / "pom.xml"
    assert text.count("3.25.5") == 2
    pom.write_text(text.replace("3.25.5", release))
    return pom


@cache
def sources_in(jar: str, pom: Path = POM) -> Mapping[str, str]:
    """Return the `.proto` files that the jar has beside its classes."""
    with zipfile.ZipFile(next(jars(pom).glob(jar))) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist() if name.endswith(".proto")}


def the_clients(pom: Path = POM) -> Mapping[str, str]:
    """Return the well-known types' sources in the client's release of protobuf."""
    return sources_in("protobuf-java-*.jar", pom)


def with_imports(root: str, there: Mapping[str, str]) -> dict[str, str]:
    files: dict[str, str] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in files:
            files[name] = there[name]
            waiting += IMPORTED.findall(there[name])
    return files


def generated_from(files: Mapping[str, str], folder: Path, pom: Path) -> Path:
    """Generate the classes of the files by protoc and javac. Return their folder."""
    for name, text in {**the_clients(pom), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    protoc = shutil.copy(next(jars(pom).glob("protoc-*.exe")), folder / "protoc")
    Path(protoc).chmod(0o700)
    java, classes = folder / "java", folder / "classes"
    java.mkdir()
    subprocess.run([protoc, f"-I{folder}", f"--java_out={java}", *files], check=True)
    written = [str(each) for each in java.rglob("*.java")]
    javac = shutil.which("javac") or "javac"
    subprocess.run([javac, "-nowarn", "-cp", f"{jars(pom)}/*", "-d", str(classes), *written], check=True)
    return classes


@pytest.mark.parametrize(("pulsar_version", "step"), [(PulsarVersion.V4_0, 1), (PulsarVersion.V5_0, sized(8, 1))])
def test_the_classes_of_googles_protos_have_the_envelopes_that_their_sources_make(
    pulsar_version: PulsarVersion, step: int
) -> None:
    pom = POMS[pulsar_version]
    there = {**the_clients(pom), **sources_in("proto-google-common-protos-*.jar", pom)}
    with zipfile.ZipFile(next(jars(pom).glob("proto-google-common-protos-*.jar"))) as jar:
        ends = "OrBuilder.class"
        names = [name.removesuffix(ends).replace("/", ".") for name in jar.namelist() if name.endswith(ends)]
    top = [{"op": "class", "name": name} for name in names if "$" not in name]
    envelopes = [answer["envelope"] for answer in oracle.query(top, ORACLE, pom)]
    by_file = {json.loads(each)["rootFileDescriptorName"]: each for each in envelopes}
    assert len(by_file) > 40
    for file, envelope in list(by_file.items())[::step]:
        message = json.loads(envelope)["rootMessageTypeName"]
        sources = {name: text for name, text in with_imports(file, there).items() if name not in the_clients(pom)}
        compiled = compile_envelope(ProtobufSources(message, sources), pulsar_version=pulsar_version)
        assert compiled.decode() == envelope, file


@pytest.mark.parametrize(
    ("release", "files", "messages"),
    [
        (None, proto_sources.EVERYTHING | proto_sources.EDITIONS, [EVERYTHING, *EDITIONS]),
        ("3.25.5", proto_sources.EVERYTHING, [EVERYTHING, f"{EVERYTHING}.Nested.Deeper", "shop.Money", "shop.About"]),
        pytest.param(
            "4.33.0",
            proto_sources.EVERYTHING | proto_sources.EDITIONS,
            [EVERYTHING, *EDITIONS],
            marks=pytest.mark.full,
        ),
    ],
)
def test_generated_classes_have_the_envelope_that_their_sources_make(
    tmp_path: Path, release: str | None, files: Mapping[str, str], messages: list[str]
) -> None:
    """Compare a release of protobuf with Pulsar 4.0's client, or without one Pulsar 5.0's client with its own."""
    pulsar_version = PulsarVersion.V4_0 if release else PulsarVersion.V5_0
    pom = of_release(release, tmp_path) if release else POMS[pulsar_version]
    classes = str(generated_from(files, tmp_path, pom))
    requests = [{"op": "class", "name": each.replace(".Nested.", "$Nested$"), "classes": classes} for each in messages]
    sources = {**files, DESCRIPTOR: the_clients(pom)[DESCRIPTOR]} if release == "4.33.0" else files
    for message, answer in zip(messages, oracle.query(requests, ORACLE, pom), strict=True):
        compiled = compile_envelope(ProtobufSources(message, sources), pulsar_version=pulsar_version)
        assert compiled.decode() == answer["envelope"], message


def test_the_files_stand_in_the_order_in_which_the_client_puts_them() -> None:
    envelopes, requests = [], []
    for seed in range(sized(25, 60)):
        files = proto_sources.random_files(avro_schemas.seeded(f"order {seed}"))
        envelope = compile_envelope(ProtobufSources("Root", files)).decode()
        envelopes.append(envelope)
        requests.append(
            {"op": "descriptors", "file": next(iter(files)), "message": "Root", "files": backwards(envelope, files)}
        )
    answers = oracle.query(requests, ORACLE)
    assert [answer.get("envelope", answer) for answer in answers] == envelopes
    assert max(len(each["files"]) for each in requests) > 3000


def backwards(envelope: str, files: Mapping[str, str]) -> str:
    """Return the envelope's files, the last ones of the sources first: an imported file comes before its importer."""
    files_of_envelope = FileDescriptorSet.FromString(base64.b64decode(json.loads(envelope)["fileDescriptorSet"]))
    order = list(files)
    ordered = sorted(files_of_envelope.file, key=lambda file: -order.index(file.name))
    return base64.b64encode(FileDescriptorSet(file=ordered).SerializeToString()).decode()


@pytest.mark.parametrize("pulsar_version", POMS)
def test_the_well_known_types_are_those_of_the_client(pulsar_version: PulsarVersion) -> None:
    theirs_of = the_clients(POMS[pulsar_version])
    names = [name for name in theirs_of if name.count("/") == 2]
    imports = {name: f'syntax = "proto3"; import "{name}"; message Root {{}}' for name in names}
    differ = set()
    for name, text in imports.items():
        own = compile_envelope(ProtobufSources("Root", {"root.proto": text}), pulsar_version=pulsar_version)
        theirs = compile_envelope(ProtobufSources("Root", {"root.proto": text, **with_imports(name, theirs_of)}))
        differ |= {name} if own != theirs else set()
    assert differ == set()


@pytest.mark.parametrize("pulsar_version", POMS)
def test_what_this_protoc_makes_is_linked_by_the_broker(pulsar_version: PulsarVersion) -> None:
    envelopes = [compile_envelope(ProtobufSources(EVERYTHING, proto_sources.EVERYTHING))]
    for syntax in ('edition = "2024"', 'edition = "2023"', 'syntax = "proto2"', 'syntax = "proto3"'):
        uses = 'import "google/protobuf/type.proto"; message Root { map<int32, google.protobuf.Type> types = 1; }'
        envelopes.append(compile_envelope(ProtobufSources("Root", {"root.proto": f"{syntax}; {uses}"})))
    infos = [SchemaInfo(SchemaType.PROTOBUF_NATIVE, each) for each in envelopes]
    requests = ({"op": "root", "schema": oracle.wire(each)} for each in infos)
    answers = oracle.query(requests, oracle.BROKER, oracle.BROKER_OF[pulsar_version])
    assert [answer.get("result", answer) for answer in answers] == [EVERYTHING, *(["Root"] * 4)]
