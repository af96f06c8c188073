"""Fields of the custom resources in deploy/kubernetes, which Kubernetes' own types do not cover: the potentially useful
ones, from the published definitions. The names of required fields end in `!`; `{str: X}` is a map, `object` is checked
elsewhere, a tuple lists the allowed values."""

_METADATA = {"name!": str, "namespace": str, "labels": {str: str}, "annotations": {str: str}}


def _resource(spec):
    return {"apiVersion!": str, "kind!": str, "metadata!": _METADATA, "spec!": spec}


# A PodTemplateSpec of core/v1.
_POD_TEMPLATE = object

SCHEMAS = {
    # Gateway API Inference Extension v1.6.0, config/crd/bases/inference.networking.k8s.io_inferencepools.yaml
    ("inference.networking.k8s.io/v1", "InferencePool"): _resource({
        "appProtocol": ("http", "kubernetes.io/h2c"),
        "endpointPickerRef": {"failureMode": ("FailOpen", "FailClose"), "group": str, "kind": str, "name!": str,
                              "port!": {"number!": int}},  # a Service must name its port
        "selector!": {"matchLabels!": {str: str}},
        "targetPorts!": [{"number!": int}]}),

    # Gateway API v1.6.1, config/crd/standard/gateway.networking.k8s.io_httproutes.yaml
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): _resource({
        "hostnames": [str],
        "parentRefs": [{"group": str, "kind": str, "name!": str, "namespace": str, "port": int, "sectionName": str}],
        "rules": [{
            "name": str,
            "matches": [{"path": {"type": ("Exact", "PathPrefix", "RegularExpression"), "value": str}, "method": str,
                         "headers": [{"name!": str, "type": ("Exact", "RegularExpression"), "value!": str}]}],
            "backendRefs": [{"group": str, "kind": str, "name!": str, "namespace": str, "port": int, "weight": int}],
            "timeouts": {"request": str, "backendRequest": str}}]}),

    # LeaderWorkerSet v0.9.0, config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _resource({
        "replicas": int,
        "startupPolicy": ("LeaderCreated", "LeaderReady"),
        "networkConfig": {"subdomainPolicy!": ("Shared", "UniquePerReplica")},
        "rolloutStrategy": {"type!": ("RollingUpdate",),
                            "rollingUpdateConfiguration": {"maxSurge": int, "maxUnavailable": int, "partition": int}},
        "leaderWorkerTemplate!": {
            "size": int,
            "restartPolicy": ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"),
            "leaderTemplate": _POD_TEMPLATE,
            "workerTemplate!": _POD_TEMPLATE}}),

    # The MPI operator's API reference for kubeflow.org/v2beta1
    ("kubeflow.org/v2beta1", "MPIJob"): _resource({
        "slotsPerWorker": int, "runLauncherAsWorker": bool, "sshAuthMountPath": str, "launcherCreationPolicy": str,
        "mpiImplementation": str,
        "runPolicy": {"cleanPodPolicy": str, "ttlSecondsAfterFinished": int, "activeDeadlineSeconds": int,
                      "backoffLimit": int, "suspend": bool, "managedBy": str},
        "mpiReplicaSpecs!": {
            kind: {"replicas": int, "template!": _POD_TEMPLATE, "restartPolicy": str} for kind in ("Launcher!", "Worker!")}}),

    # Prometheus Operator's API reference for monitoring.coreos.com/v1
    ("monitoring.coreos.com/v1", "ServiceMonitor"): _resource({
        "selector!": {"matchLabels": {str: str}},
        "endpoints!": [{"port": str, "path": str, "interval": str,
                        "authorization": {"type": str, "credentials": {"name": str, "key!": str}}}]}),
}


def faults(value, schema, path=""):
    """The parts of a value that do not match its schema, one line each."""
    if isinstance(schema, dict):
        return [f"{path} is no object"] if not isinstance(value, dict) else _object_faults(value, schema, path)
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{path} is no list"]
        return [fault for idx, item in enumerate(value) for fault in faults(item, schema[0], f"{path}[{idx}]")]
    if isinstance(schema, tuple):
        return [] if value in schema else [f"{path} is {value!r}, none of {schema}"]
    is_valid = isinstance(value, schema) and (schema in (bool, object) or not isinstance(value, bool))
    return [] if is_valid else [f"{path} is {value!r}, no {schema.__name__}"]


def _object_faults(value, schema, path):
    if str in schema:
        return [fault for name, item in value.items() for fault in faults(item, schema[str], f"{path}.{name}")]
    fields = {name.removesuffix("!"): item for name, item in schema.items()}
    found = [f"{path}.{name} does not exist" for name in value if name not in fields]
    found += [f"{path}.{name[:-1]} is missing" for name in schema if name.endswith("!") and name[:-1] not in value]
    for name in value.keys() & fields.keys():
        found += faults(value[name], fields[name], f"{path}.{name}")
    return found
