"""The default name of a topic's resource."""

import hashlib
import re
from typing import Final

from topicschema.core.topics import Topic

MAX_NAME: Final = 253
_HASH: Final = 8
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")


def name_of(topic: Topic) -> str:
    """Return a name for the topic's resource: its Pulsar namespace and local name, in Kubernetes' characters.

    Different topics of a tenant have different names: a name that another topic could have, too, ends with a hash.
    """
    plain = f"{topic.namespace}-{topic.local_name}"
    name = _BETWEEN.sub(lambda match: "." if match[0] == "." else "-", plain.lower()).strip("-.")
    if name == plain and "-" not in topic.namespace and len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(str(topic).encode()).hexdigest()[:_HASH]
    return f"{name[: MAX_NAME - _HASH - 1].strip('-.')}-{digest}".removeprefix("-")
