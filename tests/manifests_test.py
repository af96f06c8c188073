#!/usr/bin/env python3
"""The files in deploy/ besides the proxies: Kubernetes manifests, systemd unit, Dockerfile, alerts and dashboard.
Usage: manifests_test.py REALIZAR.

Tests whose tools are not installed are skipped with a message; ctest shows the whole as skipped if all of it is."""
import copy
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from manifest_schemas import SCHEMAS, faults
from program import REALIZAR
from served import Served
from waiting import until

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
NODE_MODULES = ROOT / "tests/manifests/node_modules"
SKIPPED = 77
KUSTOMIZE = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
FOLDERS = ["base", "overlays/example", "overlays/gateway", "overlays/gpu"]
FILES = ["models.yaml", "ranks/leaderworkerset.yaml", "ranks/mpijob.yaml"]
# Modules of kubernetes-types; manifest_schemas.py has the others.
MODULES = {"apps/v1": "apps/v1", "v1": "core/v1", "autoscaling/v2": "autoscaling/v2", "policy/v1": "policy/v1",
           "networking.k8s.io/v1": "networking/v1"}


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


@functools.cache
def rendered(folder):
    """The objects of a kustomization by kind."""
    return {item["kind"]: item for item in yaml.safe_load_all(output_of(*KUSTOMIZE, DEPLOY / "kubernetes" / folder))}


@functools.cache
def documents(name):
    """The objects of a file by kind."""
    return {item["kind"]: item for item in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())}


def pod_templates(item):
    """The pods of a custom resource."""
    spec = item["spec"]
    if item["kind"] == "LeaderWorkerSet":
        return [spec["leaderWorkerTemplate"][name] for name in ("leaderTemplate", "workerTemplate")]
    return [replica["template"] for replica in spec.get("mpiReplicaSpecs", {}).values()]


@functools.cache
def known_flags():
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", output_of(REALIZAR, "serve", "--help-all")))


def flags(words):
    return {word.split("=")[0] for word in words if word.startswith("--")}


def drain_s(text):
    return int(re.search(r"--drain-timeout-ms[= ](\d+)", text)[1]) / 1000


@unittest.skipUnless(yaml, "python3-yaml is not installed")
@unittest.skipUnless(shutil.which(KUSTOMIZE[0]), "neither kustomize nor kubectl is installed")
class Kubernetes(unittest.TestCase):
    def pod(self, folder):
        return rendered(folder)["Deployment"]["spec"]["template"]["spec"]

    @staticmethod
    def items():
        sets = [rendered(folder) for folder in FOLDERS] + [documents(name) for name in FILES]
        return [item for objects in sets for item in objects.values()]

    @unittest.skipUnless((NODE_MODULES / ".bin/tsc").exists(), "run: npm install --prefix tests/manifests")
    def test_every_field_is_one_of_the_api(self):
        source = ""

        def check(module, kind, item):
            nonlocal source
            source += f"{{ const item: import('kubernetes-types/{module}').{kind} = {json.dumps(item)}; void item; }}\n"

        for item in self.items():
            if item["apiVersion"] in MODULES:
                check(MODULES[item["apiVersion"]], item["kind"], item)
            for template in pod_templates(item):
                check("core/v1", "PodTemplateSpec", template)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "node_modules").symlink_to(NODE_MODULES)
            (path / "manifests.ts").write_text(source)
            tsc = subprocess.run([NODE_MODULES / ".bin/tsc", "--noEmit", "--strict", path / "manifests.ts"],
                                 capture_output=True, text=True)
        self.assertEqual(tsc.returncode, 0, tsc.stdout)

    def test_every_field_of_a_custom_resource_is_one_of_its_definition(self):
        custom = [item for item in self.items() if item["apiVersion"] not in MODULES]
        self.assertEqual({item["kind"] for item in custom}, {kind for _, kind in SCHEMAS})
        for item in custom:
            self.assertEqual(faults(item, SCHEMAS[item["apiVersion"], item["kind"]]), [], item["kind"])

    def test_fields_that_do_not_exist_or_are_missing_or_wrong_are_found(self):
        pool = copy.deepcopy(rendered("overlays/gateway")["InferencePool"])
        pool["spec"]["targetPortNumber"] = 8080
        pool["spec"]["targetPorts"] = [{"number": "http"}]
        pool["spec"]["endpointPickerRef"]["failureMode"] = "Open"
        del pool["spec"]["selector"]
        found = faults(pool, SCHEMAS[pool["apiVersion"], pool["kind"]])
        for path in [".spec.targetPortNumber does not exist", ".spec.targetPorts[0].number is 'http'",
                     ".spec.endpointPickerRef.failureMode is 'Open'", ".spec.selector is missing"]:
            self.assertEqual(len([fault for fault in found if fault.startswith(path)]), 1, found)
        self.assertEqual(len(found), 4)

    def test_selectors_select_the_pods(self):
        for folder in FOLDERS:
            items = rendered(folder)
            labels = items["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
            for selector in [items["Deployment"]["spec"]["selector"]["matchLabels"], items["Service"]["spec"]["selector"],
                             items["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                             items["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]]:
                self.assertTrue(selector)
                self.assertLessEqual(selector.items(), labels)
            self.assertEqual(items["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"],
                             items["Deployment"]["metadata"]["name"])
        items = rendered("overlays/example")
        self.assertLessEqual(items["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items(),
                             items["Service"]["metadata"]["labels"].items())

    def test_ports_and_volumes_that_are_named_exist(self):
        for folder in FOLDERS:
            container, = self.pod(folder)["containers"]
            ports = {port["name"] for port in container["ports"]}
            for probe in ["startupProbe", "readinessProbe", "livenessProbe"]:
                self.assertIn(container[probe]["httpGet"]["port"], ports)
            self.assertIn(rendered(folder)["Service"]["spec"]["ports"][0]["targetPort"], ports)
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            self.assertEqual(mounted, {volume["name"] for volume in self.pod(folder)["volumes"]})

    def test_the_server_knows_its_arguments(self):
        for folder in FOLDERS:
            container, = self.pod(folder)["containers"]
            self.assertLessEqual(flags(container["args"]), known_flags())

    def test_a_pod_has_time_to_drain(self):
        for folder in FOLDERS:
            pod = self.pod(folder)
            container, = pod["containers"]
            pause_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
            self.assertGreater(pod["terminationGracePeriodSeconds"], pause_s + drain_s(" ".join(container["args"])))

    def test_the_autoscaler_asks_for_what_the_adapter_offers(self):
        rule, = yaml.safe_load((DEPLOY / "kubernetes/prometheus-adapter.yaml").read_text())["rules"]["custom"]
        metric, = rendered("base")["HorizontalPodAutoscaler"]["spec"]["metrics"]
        self.assertEqual(metric["pods"]["metric"]["name"], rule["name"]["as"])

    def test_the_volume_of_the_models_is_the_one_that_pods_read(self):
        volume, claim = documents("models.yaml")["PersistentVolume"], documents("models.yaml")["PersistentVolumeClaim"]
        self.assertEqual(claim["spec"]["volumeName"], volume["metadata"]["name"])
        self.assertEqual(claim["spec"]["accessModes"], volume["spec"]["accessModes"])
        pods = [self.pod(folder) for folder in FOLDERS[1:]]
        pods += [template["spec"] for template in pod_templates(documents("ranks/leaderworkerset.yaml")["LeaderWorkerSet"])]
        for pod in pods:
            claims, = [item["persistentVolumeClaim"] for item in pod["volumes"] if "persistentVolumeClaim" in item]
            self.assertEqual(claims, {"claimName": claim["metadata"]["name"], "readOnly": True})

    def test_pods_with_a_gpu_compute_on_it(self):
        container, = self.pod("overlays/gpu")["containers"]
        self.assertEqual(container["resources"]["limits"]["nvidia.com/gpu"], "1")
        self.assertIn("--backend=cuda", container["args"])
        # A rolling update must not need more GPUs than there are.
        self.assertEqual(rendered("overlays/gpu")["Deployment"]["spec"]["strategy"]["rollingUpdate"]["maxSurge"], 0)

    def test_the_gateway_sends_to_the_pool_of_the_pods(self):
        items = rendered("overlays/gateway")
        pool, route = items["InferencePool"], items["HTTPRoute"]
        self.assertLessEqual(pool["spec"]["selector"]["matchLabels"].items(),
                             items["Deployment"]["spec"]["template"]["metadata"]["labels"].items())
        container, = self.pod("overlays/gateway")["containers"]
        self.assertEqual([port["number"] for port in pool["spec"]["targetPorts"]],
                         [port["containerPort"] for port in container["ports"]])
        for rule in route["spec"]["rules"]:
            backend, = rule["backendRefs"]
            self.assertEqual((backend["group"], backend["kind"], backend["name"]),
                             (pool["apiVersion"].split("/")[0], pool["kind"], pool["metadata"]["name"]))
        parents = {parent["namespace"] for parent in route["spec"]["parentRefs"]}
        sources = rendered("overlays/gateway")["NetworkPolicy"]["spec"]["ingress"][0]["from"]
        admitted = {name for source in sources if "namespaceSelector" in source
                    for name in source["namespaceSelector"]["matchExpressions"][0]["values"]}
        self.assertLessEqual(parents, admitted)

    def test_nothing_behind_the_gateway_needs_a_key(self):
        """The endpoint picker sends none, and a secret that nobody creates must not be mounted."""
        self.assertNotIn("api-keys", json.dumps(list(rendered("overlays/gateway").values())))


@unittest.skipUnless(yaml, "python3-yaml is not installed")
class Ranks(unittest.TestCase):
    """One model on several machines, with the MPI operator."""

    def setUp(self):
        items = documents("ranks/mpijob.yaml")
        self.service, self.replicas = items["Service"], items["MPIJob"]["spec"]["mpiReplicaSpecs"]

    def test_the_server_knows_its_arguments_and_has_time_to_drain(self):
        pod = self.replicas["Launcher"]["template"]["spec"]
        command = pod["containers"][0]["command"]
        arguments = command[command.index("serve"):]
        self.assertLessEqual(flags(arguments), known_flags())
        kill_s = int(command[command.index("odls_base_sigkill_timeout") + 1])
        self.assertGreater(kill_s, drain_s(" ".join(arguments)))
        self.assertGreater(pod["terminationGracePeriodSeconds"], kill_s)

    def test_the_service_selects_the_first_worker(self):
        labels = self.replicas["Worker"]["template"]["metadata"]["labels"]
        index = {"training.kubeflow.org/replica-index": "0"}
        self.assertEqual(self.service["spec"]["selector"], labels | index)


@unittest.skipUnless(yaml, "python3-yaml is not installed")
class LeaderWorkerSet(unittest.TestCase):
    """One model on several machines, with groups of a leader and its workers."""

    def setUp(self):
        items = documents("ranks/leaderworkerset.yaml")
        self.set, self.service = items["LeaderWorkerSet"], items["Service"]
        self.leader, self.worker = [template["spec"] for template in pod_templates(self.set)]
        self.command = self.leader["containers"][0]["command"]

    def test_the_server_knows_its_arguments(self):
        self.assertLessEqual(flags(self.command[self.command.index("serve"):]), known_flags())

    def test_a_group_has_time_to_drain(self):
        script = self.leader["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]
        pause_s = int(re.search(r"^sleep (\d+)$", script, re.MULTILINE)[1])
        kill_s = int(re.search(r"odls_base_sigkill_timeout (\d+)", self.command[2])[1])
        self.assertGreater(kill_s, drain_s(" ".join(self.command)))
        self.assertGreater(self.leader["terminationGracePeriodSeconds"], pause_s + kill_s)
        script = self.worker["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]
        wait_s = int(re.search(r"s < (\d+)", script)[1])
        self.assertGreater(wait_s, pause_s + kill_s)
        self.assertGreater(self.worker["terminationGracePeriodSeconds"], wait_s)

    def test_the_service_selects_the_leaders(self):
        self.assertEqual(self.service["spec"]["selector"],
                         {"leaderworkerset.sigs.k8s.io/name": self.set["metadata"]["name"],
                          "leaderworkerset.sigs.k8s.io/worker-index": "0"})
        self.assertEqual(self.service["spec"]["ports"][0]["targetPort"], self.leader["containers"][0]["ports"][0]["name"])

    def test_volumes_that_are_mounted_exist(self):
        for pod in (self.leader, self.worker):
            self.assertEqual({mount["name"] for mount in pod["containers"][0]["volumeMounts"]},
                             {volume["name"] for volume in pod["volumes"]})

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_the_leader_waits_for_its_workers_and_starts_a_rank_on_each(self):
        """With fake programs for ssh, whose first try for each worker fails, and for mpirun, which prints its
        arguments."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for name, text in {"ssh": 'host="${@: -2:1}"; echo "$host" >> tried; [[ $(grep -cx "$host" tried) -ge 2 ]]',
                               "sleep": "exit 0", "mpirun": "printf '%s\\n' \"$@\""}.items():
                (path / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
                (path / name).chmod(0o755)
            environment = {"PATH": f"{path}:{os.environ['PATH']}", "LWS_GROUP_SIZE": "3",
                           "LWS_LEADER_ADDRESS": "realizar-ranks-1.realizar-ranks.llm"}
            job = subprocess.run(self.command, cwd=path, env=environment, capture_output=True, text=True)
            tried = (path / "tried").read_text().split()
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        workers = [f"realizar-ranks-1-{index}.realizar-ranks.llm" for index in (1, 2)]
        self.assertEqual(tried, [worker for worker in workers for _ in range(2)])
        arguments = job.stdout.splitlines()
        self.assertEqual(arguments[arguments.index("--host") + 1], ",".join([environment["LWS_LEADER_ADDRESS"], *workers]))
        self.assertEqual(arguments[-len(self.command[4:]):], self.command[4:])
        self.assertEqual(self.command[4:6], ["realizar", "serve"])


class Systemd(unittest.TestCase):
    units = {name: (DEPLOY / name).read_text() for name in ("realizar.service", "realizar-ranks.service", "user/realizar.service")}

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_understands_the_units(self):
        for name, unit in self.units.items():
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / pathlib.Path(name).name
                program = str(pathlib.Path(REALIZAR).resolve())
                path.write_text(unit.replace("/usr/local/bin/realizar", program).replace("/usr/bin/mpirun", "/usr/bin/env"))
                paths, of_user = [path], name.startswith("user/")
                if of_user:
                    paths.append(shutil.copy(DEPLOY / "user/realizar.socket", folder))
                environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
                check = subprocess.run(["systemd-analyze", *(["--user"] if of_user else []), "verify", "--man=no", *paths],
                                       capture_output=True, text=True, env=environment)
            self.assertEqual((check.returncode, check.stderr), (0, ""), name)

    def test_the_server_knows_its_arguments_and_has_time_to_drain(self):
        for unit in self.units.values():
            command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
            arguments = command[command.index("/usr/local/bin/realizar"):]
            self.assertLessEqual(set(re.findall(r"--[a-z-]+", arguments)), known_flags())
            stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1])
            killed = re.search(r"odls_base_sigkill_timeout (\d+)", command)
            for limit_s in (stop_s, int(killed[1]) if killed else stop_s):
                self.assertGreater(limit_s, drain_s(command))


class Dockerfile(unittest.TestCase):
    text = (DEPLOY / "Dockerfile").read_text()

    @unittest.skipUnless(shutil.which("dpkg-query"), "this is not Debian")
    def test_every_shared_library_has_its_package(self):
        listed = set(re.search(r"--no-install-recommends(.*?)&&", self.text, re.DOTALL)[1].replace("\\", " ").split())
        self.assertIn("librealizar.so*", self.text)
        for library in re.findall(r"=> (/\S+)", output_of("ldd", REALIZAR)):
            if "/librealizar.so" in library:
                continue
            # /lib is /usr/lib, and dpkg knows a file by one of the two names.
            owners = output_of("dpkg-query", "-S", f"*{library.removeprefix('/usr')}").splitlines()
            packages = {line.split(":")[0] for line in owners if line.split(" ")[1] in (library, "/usr" + library)}
            self.assertTrue(packages & (listed | {"libc6"}), f"{library} is of {packages}")

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_the_health_check_tells_a_ready_server_from_none(self):
        command = json.loads(re.search(r"HEALTHCHECK .*\\\n +CMD (\[.*\])", self.text)[1])
        server = subprocess.Popen([REALIZAR, "serve", "realizar-tiny", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        port = re.search(r":(\d+),", server.stdout.readline())[1]
        command = [part.replace("/8080", f"/{port}") for part in command]
        until(lambda: subprocess.run(command, capture_output=True).returncode == 0, "a healthy server")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            self.assertEqual(answer.status, 200)
        server.kill()
        server.wait()
        self.assertNotEqual(subprocess.run(command, capture_output=True).returncode, 0)


def metric_names(expression):
    """The metrics that an expression of PromQL reads, without the labels that distinguish a histogram's parts."""
    names = re.findall(r"\b(?:vllm:|realizar_|process_)\w+", re.sub(r'"[^"]*"', "", expression))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


class Monitoring(unittest.TestCase):
    """Alerts and dashboard: they can be parsed, alerts fire when they should, and all their metrics exist."""
    ALERTS = DEPLOY / "prometheus/alerts.yaml"
    DASHBOARD = DEPLOY / "grafana/realizar.json"

    def panels(self):
        return json.loads(self.DASHBOARD.read_text())["panels"]

    def dashboard_expressions(self):
        """With values substituted for its variables."""
        expressions = [target["expr"] for panel in self.panels() for target in panel.get("targets", [])]
        return [re.sub(r"\$\w+", "x", text.replace("$__rate_interval", "5m")) for text in expressions]

    def variable_queries(self):
        variables = json.loads(self.DASHBOARD.read_text())["templating"]["list"]
        return [variable["query"]["query"] for variable in variables if variable["type"] == "query"]

    def run_promtool(self, *args):
        done = subprocess.run(["promtool", *map(str, args)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
    def test_the_alerts_can_be_read(self):
        self.run_promtool("check", "rules", self.ALERTS)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
    def test_the_alerts_fire_when_they_should(self):
        self.run_promtool("test", "rules", ROOT / "tests/alerts_test.yaml")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
    def test_the_dashboards_expressions_can_be_read(self):
        rules = [{"record": f"panel:{i}", "expr": text} for i, text in enumerate(self.dashboard_expressions())]
        self.assertGreater(len(rules), 30)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rules.json"  # which is YAML too
            path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            self.run_promtool("check", "rules", path)

    def test_panels_have_numbers_and_places_of_their_own(self):
        panels = self.panels()
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        cells = [(x, y) for panel in panels for place in [panel["gridPos"]]
                 for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
        self.assertEqual(len(set(cells)), len(cells), "panels overlap")
        self.assertLess(max(x for x, _ in cells), 24)

    def test_every_metric_is_one_that_a_server_has(self):
        alerts = re.sub(r"#.*|annotations:(\n {10}.*)+", "", self.ALERTS.read_text())
        asked = metric_names(alerts + " ".join(self.dashboard_expressions() + self.variable_queries()))
        self.assertGreater(len(asked), 30)
        server = Served(REALIZAR, "realizar-tiny", "--otlp-endpoint", "http://127.0.0.1:9")  # the discard port
        try:
            self.assertEqual(server.ask("POST", "/v1/completions", {"prompt": "Hello", "max_tokens": 3, "ignore_eos": True})[0], 200)
            text = server.ask("GET", "/metrics")[2].decode()
        finally:
            server.stop()
        self.assertEqual(asked - set(re.findall(r"^# TYPE (\S+)", text, re.M)), set())

    def test_every_alert_is_explained(self):
        page = (ROOT / "docs/deploy.md").read_text()
        names = re.findall(r"- alert: (\w+)", self.ALERTS.read_text())
        explained = re.findall(r"^\| `(Realizar\w+)` \|", page, re.M)
        self.assertEqual(names, explained)
        tested = set(re.findall(r"alertname: (\w+)", (ROOT / "tests/alerts_test.yaml").read_text()))
        self.assertEqual(tested, set(names))


if __name__ == "__main__":
    program = unittest.main(verbosity=2, exit=False)
    all_skipped = len(program.result.skipped) == program.result.testsRun
    sys.exit(SKIPPED if all_skipped else 0 if program.result.wasSuccessful() else 1)
