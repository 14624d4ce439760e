"""Pod spec that the driver and the executors of a run share.

The pods are allowed in a namespace with the restricted Pod Security Standard: no root, no privilege, a read-only root
file system and nothing of the host. They mount only the named keys of Secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from topicschema.api.kinds import Object
from topicschema.api.registries import AuthenticationSpec
from topicschema.api.validation_pods import TemplateSpec
from topicschema.api.wire import encode
from topicschema.validation.request import SPARK_FROM_SECONDS

CREDENTIALS_FOLDER: Final = "/credentials"
TRUST_FOLDER: Final = "/trust"
_ACCOUNT: Final = "topicschema-validation"
_USER: Final = 65_532
_WRITABLE: Final = "/tmp"  # noqa: S108 - a volume of the pod's own
_SCRATCH: Final = "spark-local-dir-1"  # Spark recognizes this name; with another one it mounts a second volume over it
_READABLE: Final = 0o440
_RESOURCES: Final[Mapping[str, Any]] = MappingProxyType(
    {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Images of validation pods, without and with Java and Spark ("": none), and when a run starts executors.

    It does so if it would take one pod more than `spark_from_seconds`.
    """

    image: str = ""
    spark_image: str = ""
    spark_from_seconds: float = SPARK_FROM_SECONDS


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """Keys of a Secret that are mounted in `folder`. `members` maps file names to keys."""

    folder: str
    secret: str
    members: Mapping[str, str]

    @property
    def volume(self) -> Object:
        """The volume, named after the folder."""
        items = [{"key": key, "path": path} for path, key in sorted(self.members.items())]
        return {
            "name": self.folder.strip("/"),
            "secret": {"secretName": self.secret, "items": items, "defaultMode": _READABLE},
        }


def credentials_of(authentication: AuthenticationSpec | None) -> SecretFiles | None:
    """Return the files of the credentials, or None without any."""
    if authentication is None:
        return None
    token, oauth2, tls = authentication.token, authentication.oauth2, authentication.tls
    if token is not None:
        return SecretFiles(CREDENTIALS_FOLDER, token.secret_ref.name, {"token": token.secret_ref.key})
    if oauth2 is not None:
        return SecretFiles(CREDENTIALS_FOLDER, oauth2.secret_ref.name, {"secret": oauth2.secret_ref.key})
    if tls is not None:
        return SecretFiles(CREDENTIALS_FOLDER, tls.secret_ref.name, {"tls.crt": "tls.crt", "tls.key": "tls.key"})
    return None


def pod(container: str, image: str, template: TemplateSpec, mounts: tuple[SecretFiles, ...]) -> Object:
    """Return the spec of a pod with one container of that name. The caller adds command and arguments."""
    return {
        "serviceAccountName": template.service_account_name or _ACCOUNT,
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 10,
        "nodeSelector": dict(template.node_selector),
        "tolerations": encode(template.tolerations),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(container, image, template, mounts)],
        "volumes": [{"name": _SCRATCH, "emptyDir": {"sizeLimit": "4Gi"}}, *(each.volume for each in mounts)],
    }


def _container(name: str, image: str, template: TemplateSpec, mounts: tuple[SecretFiles, ...]) -> Object:
    secrets = [{"name": each.folder.strip("/"), "mountPath": each.folder, "readOnly": True} for each in mounts]
    return {
        "name": name,
        "image": image,
        "env": [{"name": variable, "value": _WRITABLE} for variable in ("HOME", "TMPDIR", "SPARK_LOCAL_DIRS")],
        "resources": dict(_RESOURCES) if template.resources is None else encode(template.resources),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": _SCRATCH, "mountPath": _WRITABLE}, *secrets],
    }
