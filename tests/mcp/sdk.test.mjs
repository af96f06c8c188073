// realizar as the client of servers made with the protocol's own SDK.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startNewServer, startSdkServer } from './sdk_server.mjs';

const kProgram = process.env.REALIZAR_BIN;
const kDeadlineMs = 300_000; // ends what hangs; nothing else depends on it

async function until(condition, what) {
  for (const end = Date.now() + kDeadlineMs; !condition();) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function events(url, tool) {
  const flags = ['run', '-p', 'Use it.', '--json', '-n', '80', '--temperature', '0', '--mcp', `sdk=${url}`, '--mcp-allow', 'sdk', '--tool-choice', `sdk__${tool}`];
  const answering = promisify(execFile)(kProgram, flags, { timeout: kDeadlineMs });
  answering.child.stdin.end(); // there is no text on it
  const { stdout } = await answering;
  return stdout.trim().split('\n').map((line) => JSON.parse(line));
}

async function resultOf(url, tool) {
  const { text, is_error: isError } = (await events(url, tool)).find(({ type }) => type === 'tool_result');
  return { text, isError };
}

async function serve(t, url) {
  const child = spawn(kProgram, ['serve', '--port', '0', '--mcp', `sdk=${url}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    const base = /listens on (\S+),/.exec(line)?.[1];
    if (base) return { base, child };
  }
  throw new Error('the server did not start');
}

const call = (base, tool, args, signal) =>
  fetch(`${base}/mcp/sdk/call`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ tool, arguments: args }), signal });

for (const kind of ['sessions', 'json', 'stateless']) {
  test(`a model calls a tool of the SDK's server (${kind})`, async (t) => {
    const server = await startSdkServer(kind);
    t.after(server.close);
    assert.deepEqual(await resultOf(server.url, 'word'), { text: 'The word is Paris.', isError: false });
    assert.deepEqual([...server.log.versions], [undefined, '2025-11-25']);
    if (kind !== 'stateless') await until(() => server.log.deleted === 1, 'the session is not ended');
  });
}

for (const legacy of ['reject', 'stateless']) {
  test(`a model calls a tool of the SDK's second line (older revisions: ${legacy})`, async (t) => {
    const server = await startNewServer(legacy);
    t.after(server.close);
    assert.deepEqual(await resultOf(server.url, 'word'), { text: 'The word is Paris.', isError: false });
  });
}

test('what the protocol has beside calls and texts', async (t) => {
  const server = await startSdkServer('sessions');
  t.after(server.close);
  const { base } = await serve(t, server.url);
  const resultOf = async (tool) => (await call(base, tool, {})).json();
  assert.deepEqual(await resultOf('fail'), { text: 'the disk is full', is_error: true });
  assert.match((await resultOf('picture')).text, /an image \(image\/png\) is left out.*\nfile:\/\/\/notes:\ninner text\n\[a link to other/);
  assert.match((await resultOf('chatty')).text, /^pinged; .*(Method not found|not support)/);
  assert.deepEqual(await resultOf('polled'), { text: 'after the break', is_error: false });
  assert.equal(server.log.canPoll, true);
});

test("a server's page calls them, cancels, and outlives a session", async (t) => {
  const server = await startSdkServer('sessions');
  t.after(server.close);
  const { base } = await serve(t, server.url);
  const { tools } = await (await fetch(`${base}/mcp/sdk/tools`)).json();
  assert.deepEqual(tools.map(({ name }) => name), ['add', 'word', 'fail', 'picture', 'chatty', 'polled', 'wait']);
  assert.deepEqual(await (await call(base, 'add', { a: 2, b: 3 })).json(), { text: '5', is_error: false });
  const wrong = await (await call(base, 'add', { a: 'x' })).json();
  assert.equal(wrong.is_error, true);

  server.sessions.clear();
  assert.deepEqual(await (await call(base, 'add', { a: 2, b: 3 })).json(), { text: '5', is_error: false });

  const controller = new AbortController();
  const waiting = call(base, 'wait', {}, controller.signal).catch(() => 'left');
  await until(() => server.log.waiting, 'the tool is not called');
  controller.abort();
  assert.equal(await waiting, 'left');
  await until(() => server.log.cancelled, 'the call is not cancelled');
});
