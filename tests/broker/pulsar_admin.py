"""`pulsar-admin` for the documents' commands, which Pulsar ships in its archive alone: it sends the same requests.

python -m broker.pulsar_admin ADMIN_URL FOLDER_OF_THE_BROKER tenants update shop --admin-roles topicschema,app
"""

import sys
from pathlib import Path

from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access, Credentials


def main(admin_url: str, folder: str, *command: str) -> None:
    """Run the command as the superuser; one that is not known here ends with a traceback."""
    broker = Pulsar(admin_url, "", Credentials.at(Path(folder), Access.TOKEN))
    match command:
        case "tenants", "update", tenant, "--admin-roles", roles:
            before = broker.call("GET", f"/tenants/{tenant}")
            broker.call("POST", f"/tenants/{tenant}", {**before, "adminRoles": roles.split(",")})
        case "namespaces", "grant-permission", namespace, "--role", role, "--actions", actions:
            broker.call("POST", f"/namespaces/{namespace}/permissions/{role}", actions.split(","))
        case _:
            raise NotImplementedError(command)


if __name__ == "__main__":
    main(*sys.argv[1:])
