// The hub of tests/hub_server.py with one repository, whose file is the bundled model.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const kStart = `
import pathlib, sys, threading
sys.path.insert(0, "tests")
from hub_server import Hub
hub = Hub()
name, downloads = sys.argv[1:]
hub.add_repo(name, {"m-Q8_0.gguf": pathlib.Path("models/realizar-tiny/realizar-tiny-Q8_0.gguf").read_bytes()})
hub.downloads[name] = int(downloads)
print(hub.url, flush=True)
threading.Event().wait()
`;

export async function startHub(name, nDownloads) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn('python3', ['-c', kStart, name, String(nDownloads)], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const close = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  for await (const url of createInterface(child.stdout)) return { url, close };
  throw new Error('the hub did not start');
}
