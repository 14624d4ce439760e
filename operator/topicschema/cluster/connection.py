"""Address and credentials of the API server: from a named kubeconfig, or from the pod's service account.

An ambient file such as ~/.kube/config is never read: an operator that guesses its cluster writes into the wrong one.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml
from kubernetes import config
from kubernetes.client import Configuration

from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason

# Errors of the library for a kubeconfig that is missing, no YAML, or YAML of another shape.
_UNUSABLE = (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, LookupError)


@dataclass(frozen=True, slots=True)
class ApiConnection:
    """Address of an API server with credentials. `tls_server_name` is set if the certificate has another name.

    `user` is the account to act as, "" for that of the credentials.
    """

    server: str
    ssl: ssl.SSLContext
    tls_server_name: str | None
    _configuration: Configuration
    user: str = ""

    @classmethod
    def load(cls, kubeconfig: str | None, user: str = "") -> Self:
        """Return the connection that `kubeconfig` names (paths as in KUBECONFIG). None means the pod's service account.

        Raises StalledError(NoCluster) if it is missing or cannot be used.
        """
        configuration = Configuration(proxy="", no_proxy="")  # nor the environment's proxy: it is for others
        try:
            if kubeconfig is None:
                config.load_incluster_config(configuration)  # type: ignore[no-untyped-call] # the library has no types here
            else:
                config.load_kube_config(kubeconfig, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call]
            tls = _tls(configuration)
        except _UNUSABLE as error:
            source = "set KUBECONFIG, or run in a pod" if kubeconfig is None else f"kubeconfig {kubeconfig[:500]}"
            raise StalledError(
                Reason.NO_CLUSTER, f"no cluster to talk to ({source}): {type(error).__name__}"
            ) from error
        if configuration.proxy:
            raise StalledError(Reason.NO_CLUSTER, "a kubeconfig with proxy-url is not supported")
        return cls(configuration.host.rstrip("/"), tls, configuration.tls_server_name, configuration, user)

    def headers(self) -> dict[str, str]:
        """Return the headers of authentication and impersonation.

        A pod's token is read again every minute, because the kubelet renews it.
        """
        token = self._configuration.get_api_key_with_prefix("BearerToken")
        return {
            **({"Authorization": token} if token else {}),
            **({"Impersonate-User": self.user} if self.user else {}),
        }


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(Path(configuration.cert_file), configuration.key_file)
    return context
