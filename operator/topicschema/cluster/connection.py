"""Where the API server is and who we are: from a kubeconfig that was named, or from the pod we run in.

Never from an ambient file such as ~/.kube/config: an operator that guesses its cluster writes into the wrong one.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml
from kubernetes import config
from kubernetes.client import Configuration

from topicschema.core.errors import StalledError

# What the library lets through when a kubeconfig is missing, no YAML, or YAML of another shape.
_UNUSABLE = (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, LookupError)


@dataclass(frozen=True, slots=True)
class Connection:
    """An API server's address and our credentials; `tls_server_name` is set when the certificate bears another name."""

    server: str
    ssl: ssl.SSLContext
    tls_server_name: str | None
    _configuration: Configuration

    @classmethod
    def load(cls, kubeconfig: str | None) -> Self:
        """The connection that `kubeconfig` names (paths as in KUBECONFIG); None: that of the pod's service account.

        StalledError(NoCluster) when it is not there or cannot be used.
        """
        configuration = Configuration(proxy="", no_proxy="")  # not the environment's either: it is not for our cluster
        try:
            if kubeconfig is None:
                config.load_incluster_config(configuration)  # type: ignore[no-untyped-call] # the library has no types here
            else:
                config.load_kube_config(kubeconfig, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call]
            tls = _tls(configuration)
        except _UNUSABLE as error:
            told = "set KUBECONFIG, or run in a pod" if kubeconfig is None else f"kubeconfig {kubeconfig[:500]}"
            raise StalledError("NoCluster", f"no cluster to talk to ({told}): {type(error).__name__}") from error
        if configuration.proxy:
            raise StalledError("NoCluster", "a kubeconfig with proxy-url is not supported")
        return cls(configuration.host.rstrip("/"), tls, configuration.tls_server_name, configuration)

    def headers(self) -> dict[str, str]:
        """The headers that say who we are; a pod's token is read again every minute, as the kubelet renews it."""
        token = self._configuration.get_api_key_with_prefix("BearerToken")
        return {"Authorization": token} if token else {}


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(Path(configuration.cert_file), configuration.key_file)
    return context
