"""Documents of strangers: careful steps into them, and what of them may be kept.

The wrong type is the same as nothing. Specs hold secrets, so what is kept is an allow-list:
environment values, arguments, annotations and mounted secrets are left out unless they are named
here; `kubectl` itself would write them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from pdtriage.masking.variables import ALLOWED
from pdtriage.scan.lines import readable_line

SHOWN = 500
"""Characters of a message that go into a report."""
LONGEST = 4_096
"""Characters kept of one text; a container may report a termination message as long as this."""
VARIABLES = ALLOWED | {
    "PADDLE_ELASTIC_SERVER",
    "PADDLE_ELASTIC_TIMEOUT",
    "PADDLE_SERVER_NUM",
    "PADDLE_TRAINERS",
    "PADDLE_TRAINER_NUM",
    "PADDLE_TRAINING_ROLE",
    "PADDLE_WITH_GLOO",
    "TRAINER_PORTS_NUM",
}
LABELS = ("paddle-res-", "training.kubeflow.org/", "volcano.sh/", "app.kubernetes.io/name")
ANNOTATIONS = ("paddle-resource", "volcano.sh/task-spec", "scheduling.k8s.io/group-name")

Json = object
"""Whatever `json.loads` gives; looked at before it is used."""
Template = Callable[[Json], Json]


def object_at(value: object, *path: str) -> Mapping[str, object]:
    """The object at `path` below `value`, empty where there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def items_at(value: object, *path: str) -> Iterator[Mapping[str, object]]:
    """The objects of the list at `path` below `value`."""
    inner = object_at(value, *path[:-1]).get(path[-1]) if path else value
    for item in inner if isinstance(inner, list) else []:
        if isinstance(item, Mapping):
            yield item


def text_at(value: object, *path: str) -> str:
    """The text at `path` below `value`: one line, no control characters."""
    inner = object_at(value, *path[:-1]).get(path[-1]) if path else value
    if isinstance(inner, bool) or not isinstance(inner, str | int | float):
        return ""
    flat = " ".join(readable_line(str(inner).encode("utf-8", "replace")).split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"


def number_at(value: object, *path: str) -> int | None:
    inner = object_at(value, *path[:-1]).get(path[-1]) if path else value
    if isinstance(inner, int) and not isinstance(inner, bool):
        return inner
    told = inner.strip() if isinstance(inner, str) else ""
    return int(told) if told.isdecimal() and len(told) < 10 else None


def moment(value: object, *path: str) -> float | None:
    """Seconds since 1970 of `2024-01-01T00:00:00Z` or of `Mon, 01 Jan 2024 08:00:00 +0800`."""
    told = text_at(value, *path)
    if not told:
        return None
    try:
        if told[:1].isdecimal():
            whole, _, rest = told.replace("Z", "+00:00").partition(".")
            zone = rest[-6:] if rest else ""
            read = datetime.fromisoformat(whole + zone)
            return (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
        from email.utils import parsedate_to_datetime  # slow to import, and only for `describe`

        return parsedate_to_datetime(told).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def reduce_document(document: Json) -> dict[str, Json]:
    """A pod, an event, a PaddleJob or a list of them, with what is allowed and nothing else."""
    if not isinstance(document, dict):
        return {}
    kind = document.get("kind")
    items_at = document.get("items")
    if isinstance(items_at, list):
        # kubectl leaves the kind of items out where the list names it
        own = str(kind).removesuffix("List")
        kept = [
            reduce_document({"kind": own, **item}) for item in items_at if isinstance(item, dict)
        ]
        return {"apiVersion": "v1", "kind": "List", "items": [item for item in kept if item]}
    template = _TEMPLATES.get(str(kind))
    kept_one = template(document) if template else {}
    return kept_one if isinstance(kept_one, dict) else {}


def withheld_variables(document: Json) -> int:
    """How many environment variables of a pod were not kept."""
    return _variables(document) - _variables(reduce_document(document))


def _variables(pod: Json) -> int:
    spec = pod.get("spec") if isinstance(pod, Mapping) else None
    count = 0
    for group in ("containers", "initContainers"):
        listed = spec.get(group) if isinstance(spec, Mapping) else None
        for container in listed if isinstance(listed, list) else []:
            env = container.get("env") if isinstance(container, Mapping) else None
            count += len(env) if isinstance(env, list) else 0
    return count


def _plain(value: Json) -> Json:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"
    return value if isinstance(value, bool | int | float) else None


def _record(*plain: str, **others: Template) -> Template:
    """An object with these fields: texts and numbers, and others that have a template."""
    fields = {**dict.fromkeys(plain, _plain), **others}

    def keep(value: Json) -> Json:
        if not isinstance(value, Mapping):
            return None
        kept = {name: keep(value[name]) for name, keep in fields.items() if name in value}
        return {name: field for name, field in kept.items() if field is not None}

    return keep


def _each(template: Template) -> Template:
    def keep(value: Json) -> Json:
        if not isinstance(value, list):
            return None
        return [kept for item in value if (kept := template(item)) is not None]

    return keep


def _named_like(prefixes: Sequence[str]) -> Template:
    def keep(value: Json) -> Json:
        if not isinstance(value, Mapping):
            return None
        wanted = {n: _plain(v) for n, v in value.items() if str(n).startswith(tuple(prefixes))}
        return wanted or None

    return keep


def _amounts(value: Json) -> Json:
    """Names and quantities: `nvidia.com/gpu: 8`."""
    return {str(n): _plain(v) for n, v in value.items()} if isinstance(value, Mapping) else None


def _variable(value: Json) -> Json:
    if not isinstance(value, Mapping) or value.get("name") not in VARIABLES:
        return None
    return _record("name", "value")(value)


def _volume(value: Json) -> Json:
    """Its name and kind; only of a volume in memory or on the node's disk also its size."""
    if not isinstance(value, Mapping):
        return None
    kept: dict[str, Json] = {str(name): {} for name in value if name != "name"}
    if "emptyDir" in value:
        kept["emptyDir"] = _record("medium", "sizeLimit")(value["emptyDir"]) or {}
    return {"name": _plain(value.get("name")), **kept}


_METADATA = _record(
    *("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"),
    labels=_named_like(LABELS),
    annotations=_named_like(ANNOTATIONS),
    ownerReferences=_each(_record("apiVersion", "kind", "name", "uid", "controller")),
)
_CONTAINER = _record(
    *("name", "image"),
    env=_each(_variable),
    resources=_record(limits=_amounts, requests=_amounts),
    volumeMounts=_each(_record("name", "mountPath", "readOnly")),
)
_POD_SPEC = _record(
    *("nodeName", "hostNetwork", "hostIPC", "restartPolicy", "priorityClassName", "schedulerName"),
    *("activeDeadlineSeconds", "terminationGracePeriodSeconds"),
    initContainers=_each(_CONTAINER),
    containers=_each(_CONTAINER),
    volumes=_each(_volume),
)
_STATE = _record(
    waiting=_record("reason", "message"),
    running=_record("startedAt"),
    terminated=_record("exitCode", "signal", "reason", "message", "startedAt", "finishedAt"),
)
_STATUSES = _each(
    _record("name", "restartCount", "ready", state=_STATE, lastState=_STATE, image=_plain)
)
_CONDITIONS = _each(_record("type", "status", "reason", "message", "lastTransitionTime"))
_POD_STATUS = _record(
    *("phase", "reason", "message", "podIP", "hostIP", "startTime", "qosClass"),
    conditions=_CONDITIONS,
    initContainerStatuses=_STATUSES,
    containerStatuses=_STATUSES,
)
_REPLICAS = _record(
    *("replicas", "requests", "limits", "restartPolicy"), template=_record(spec=_POD_SPEC)
)
_COUNTS = _record("pending", "starting", "running", "failed", "succeeded", "active", "unknown")
_JOB_SPEC = _record(
    *("cleanPodPolicy", "intranet", "withGloo", "elastic"),
    worker=_REPLICAS,
    ps=_REPLICAS,
    heter=_REPLICAS,
    paddleReplicaSpecs=_record(Worker=_REPLICAS, Master=_REPLICAS),
    runPolicy=_record(
        "cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"
    ),
)
_JOB_STATUS = _record(
    *("phase", "mode", "elastic", "startTime", "completionTime"),
    worker=_COUNTS,
    ps=_COUNTS,
    heter=_COUNTS,
    conditions=_CONDITIONS,
)
_SUBJECT = _record("kind", "name", "uid", "fieldPath")
_TEMPLATES: dict[str, Template] = {
    "Pod": _record("apiVersion", "kind", metadata=_METADATA, spec=_POD_SPEC, status=_POD_STATUS),
    "Event": _record(
        *("apiVersion", "kind"),
        metadata=_record("name", "namespace", "creationTimestamp"),
        involvedObject=_SUBJECT,
        regarding=_SUBJECT,
        **dict.fromkeys(("type", "reason", "message", "note", "count"), _plain),
        **dict.fromkeys(("firstTimestamp", "lastTimestamp", "eventTime"), _plain),
        source=_record("component", "host"),
    ),
    "PaddleJob": _record(
        "apiVersion", "kind", metadata=_METADATA, spec=_JOB_SPEC, status=_JOB_STATUS
    ),
}
