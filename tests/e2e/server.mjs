// Starts `realizar serve` on a free port and stops it: the beginning and end of every suite here.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import path from 'node:path';
import {after} from 'node:test';
import {fileURLToPath} from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const DEADLINE_MS = 300_000; // ends what hangs; nothing else depends on it
const running = new Set();
// A failed test leaves its server running, which must not outlive the tests.
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export const REALIZAR = path.resolve(HERE, process.env.REALIZAR_BIN ?? '../../build/release/bin/realizar');
export const MODEL_FILE = path.resolve(HERE, '../../models/realizar-tiny/realizar-tiny-Q8_0.gguf');
export const MODEL = 'realizar-tiny';

export const QUESTION = 'What is the capital of France?';
export const CAPITAL = [{role: 'user', content: QUESTION}];
export const ANSWER = 'The capital of France is Paris.';
export const WEATHER = {
  name: 'get_weather',
  description: 'Get the weather of a city',
  parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
};

export async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

// Calls `probe` until it returns something truthy, which is the result.
export async function until(probe, what) {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited ${DEADLINE_MS} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

class Server {
  constructor(args) {
    this.stdout = '';
    this.stderr = '';
    this.process = spawn(REALIZAR, ['serve', '--port', '0', ...args], {stdio: ['ignore', 'pipe', 'pipe']});
    running.add(this.process);
    for (const handle of [this.process, this.process.stdout, this.process.stderr]) handle.unref();
    this.process.stdout.on('data', (bytes) => (this.stdout += bytes));
    this.process.stderr.on('data', (bytes) => (this.stderr += bytes));
    this.exit = new Promise((resolve, reject) => {
      this.process.on('error', reject);
      this.process.on('close', (code, signal) => {
        running.delete(this.process);
        resolve({code, signal});
      });
    });
  }

  async listening() {
    let exit;
    this.exit.then((value) => (exit = value), (error) => (exit = error));
    const pattern = /realizar listens on (\S+), model (\S+)/;
    await until(() => exit || pattern.test(this.stdout), 'the line that tells the port');
    if (exit) throw new Error(`realizar ended at once: ${JSON.stringify(exit)} ${this.stderr}`);
    [, this.url, this.model] = this.stdout.match(pattern);
    return this;
  }

  async ready() {
    await until(async () => (await fetch(`${this.url}/readyz`)).ok, 'the model');
    return this;
  }

  // The value of one metric, 0 without a sample.
  async metric(name, headers = {}) {
    const text = await (await fetch(`${this.url}/metrics`, {headers})).text();
    const line = text.split('\n').find((l) => l.startsWith(`${name}{`) || l.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
  }

  post(route, body, headers = {}) {
    return fetch(this.url + route, {
      method: 'POST',
      headers: {'Content-Type': 'application/json', ...headers},
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    });
  }
  async json(route, body, headers = {}) {
    return (await this.post(route, body, headers)).json();
  }

  signal(name) {
    this.process.kill(name);
  }
  // How it ended; it is killed if it does not end.
  async ended() {
    const stuck = setTimeout(() => this.signal('SIGKILL'), DEADLINE_MS);
    const exit = await this.exit;
    clearTimeout(stuck);
    return exit;
  }
  // Ends it like an operator, and returns its exit code.
  async stop() {
    this.signal('SIGTERM');
    const {code, signal} = await this.ended();
    if (signal !== null) throw new Error(`realizar was ended by ${signal}: ${this.stderr}`);
    return code;
  }
}

export async function startServer(...args) {
  const server = await new Server(args).listening();
  return server.url.startsWith('https') ? server : server.ready();
}
// A server for all tests of a file, which must then end without an error.
export async function serveFile(...args) {
  const server = await startServer(...args);
  after(async () => assert.equal(await server.stop(), 0));
  return server;
}
export async function startUnready(...args) {
  return new Server(args).listening();
}

// A generation that runs for seconds unless it is ended, and for minutes if the server has a long context.
export const LONG_CONTEXT = ['--ctx', '32000'];
export const LONG = {
  model: MODEL,
  messages: [{role: 'user', content: 'What is the capital of France?'}],
  n: 64,
  stream: true,
  ignore_eos: true,
};
export const ENDLESS = {...LONG, n: 1, temperature: 1, seed: 1, max_tokens: 30_000};
