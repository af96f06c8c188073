// Starts the program that REALIZAR_BIN names as a server of the bundled model on a free port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export async function serve(...flags) {
  const child = spawn(process.env.REALIZAR_BIN, ['serve', 'realizar-tiny', '--port', '0', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(child.stdout)) {
    const url = /listens on (\S+),/.exec(line)?.[1];
    if (!url) continue;
    while (!(await fetch(`${url}/readyz`)).ok);
    const stop = async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    return { url, stop };
  }
  throw new Error('the server did not start');
}
