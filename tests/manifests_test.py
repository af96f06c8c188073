#!/usr/bin/env python3
"""What deploy/ holds beside the proxies: Kubernetes manifests, systemd unit, Dockerfile. Usage: manifests_test.py REALIZAR.

What needs a tool that is not installed is skipped, and says so; ctest shows the whole as skipped where all of it is."""
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from waiting import until

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
NODE_MODULES = ROOT / "tests/manifests/node_modules"
REALIZAR = ""
SKIPPED = 77
KUSTOMIZE = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
FOLDERS = ["base", "overlays/example"]
# Of kubernetes-types; ServiceMonitor belongs to Prometheus Operator.
MODULES = {"apps/v1": "apps/v1", "v1": "core/v1", "autoscaling/v2": "autoscaling/v2", "policy/v1": "policy/v1",
           "networking.k8s.io/v1": "networking/v1"}


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


@functools.cache
def rendered(folder):
    """The objects of a kustomization by kind."""
    return {item["kind"]: item for item in yaml.safe_load_all(output_of(*KUSTOMIZE, DEPLOY / "kubernetes" / folder))}


@functools.cache
def known_flags():
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", output_of(REALIZAR, "serve", "--help-all")))


def drain_s(text):
    return int(re.search(r"--drain-timeout-ms[= ](\d+)", text)[1]) / 1000


@unittest.skipUnless(yaml, "python3-yaml is not installed")
@unittest.skipUnless(shutil.which(KUSTOMIZE[0]), "neither kustomize nor kubectl is installed")
class Kubernetes(unittest.TestCase):
    def pod(self, folder):
        return rendered(folder)["Deployment"]["spec"]["template"]["spec"]

    @unittest.skipUnless((NODE_MODULES / ".bin/tsc").exists(), "run: npm install --prefix tests/manifests")
    def test_every_field_is_one_of_the_api(self):
        source = ""
        for folder in FOLDERS:
            for item in rendered(folder).values():
                if item["apiVersion"] not in MODULES:
                    self.assertEqual(item["kind"], "ServiceMonitor")
                    continue
                kind, module = item["kind"], MODULES[item["apiVersion"]]
                source += f"{{ const item: import('kubernetes-types/{module}').{kind} = {json.dumps(item)}; void item; }}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "node_modules").symlink_to(NODE_MODULES)
            (path / "manifests.ts").write_text(source)
            check = subprocess.run([NODE_MODULES / ".bin/tsc", "--noEmit", "--strict", path / "manifests.ts"],
                                   capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)

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
            flags = {arg.split("=")[0] for arg in container["args"] if arg.startswith("--")}
            self.assertLessEqual(flags, known_flags())

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


class Systemd(unittest.TestCase):
    unit = (DEPLOY / "realizar.service").read_text()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_understands_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "realizar.service"
            path.write_text(self.unit.replace("/usr/local/bin/realizar", str(pathlib.Path(REALIZAR).resolve())))
            check = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
        self.assertEqual((check.returncode, check.stderr), (0, ""))

    def test_the_server_knows_its_arguments_and_has_time_to_drain(self):
        command = re.search(r"^ExecStart=(.*)$", self.unit, re.MULTILINE)[1]
        self.assertLessEqual(set(re.findall(r"--[a-z-]+", command)), known_flags())
        self.assertGreater(int(re.search(r"^TimeoutStopSec=(\d+)$", self.unit, re.MULTILINE)[1]), drain_s(command))


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


if __name__ == "__main__":
    REALIZAR = sys.argv.pop(1)
    program = unittest.main(verbosity=2, exit=False)
    all_skipped = len(program.result.skipped) == program.result.testsRun
    sys.exit(SKIPPED if all_skipped else 0 if program.result.wasSuccessful() else 1)
