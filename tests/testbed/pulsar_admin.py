"""Pulsar's own `pulsar-admin`, with its classes from Maven."""

from pathlib import Path

from testbed import maven

POM = Path(__file__).parent / "pulsar" / "tools.xml"


def install(folder: Path, url: str, token: str, ca: Path) -> Path:
    """Write the program and its default `client.conf` into the folder, and return the program.

    As with Pulsar's own script, PULSAR_CLIENT_CONF names another `client.conf`.
    """
    authentication = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
    lines = (f"webServiceUrl={url}", f"authPlugin={authentication}", f"authParams=token:{token}")
    (folder / "client.conf").write_text("\n".join((*lines, f"tlsTrustCertsFilePath={ca}", "")))
    java = f"java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '{maven.jars(POM)}/*'"
    program = folder / "pulsar-admin"
    conf = f'"${{PULSAR_CLIENT_CONF:-{folder}/client.conf}}"'
    program.write_text(f'#!/bin/sh\nexec {java} org.apache.pulsar.admin.cli.PulsarAdminTool {conf} "$@"\n')
    program.chmod(0o755)
    return program
