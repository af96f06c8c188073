// Codex CLI, OpenAI's coding agent, as its own program: a turn, and a turn in which it runs a command.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs/promises';
import http from 'node:http';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {DEADLINE_MS, MODEL, startServer} from './server.mjs';

// The program for this machine, from the package that its launcher would choose; null if npm omitted it.
async function findCodex() {
  try {
    const launcher = createRequire(import.meta.url).resolve('@openai/codex/package.json');
    const folder = createRequire(launcher).resolve(`@openai/codex-${process.platform}-${process.arch}/package.json`);
    const vendor = path.join(path.dirname(folder), 'vendor');
    return path.join(vendor, (await fs.readdir(vendor))[0], 'bin', 'codex');
  } catch {
    return null;
  }
}
const codex = await findCodex();
const skip = codex === null && 'the package @openai/codex has no program for this machine, or was not installed';
let server, relay, requests, change, home;

// Forwards requests unchanged, except that the small model has to write one short sentence, the same each time.
async function pass(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = JSON.parse(Buffer.concat(parts));
  requests.push(body);
  const asked = {...body, temperature: 0, stop: ['.', '\n'], ...change(requests.length, body)};
  const reply = await fetch(server.url + request.url, {method: 'POST', body: JSON.stringify(asked)});
  response.writeHead(reply.status, {'Content-Type': reply.headers.get('Content-Type')});
  for await (const piece of reply.body) response.write(piece);
  response.end();
}

before(async () => {
  if (skip) return;
  server = await startServer('--ctx', '12288', '--max-seqs', '1');
  relay = http.createServer(pass);
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
  home = await fs.mkdtemp(path.join(os.tmpdir(), 'realizar-codex-'));
  await fs.mkdir(path.join(home, 'work'));
  await fs.writeFile(path.join(home, 'instructions.md'), 'You are a coding agent.');
  await fs.writeFile(path.join(home, 'config.toml'), `
model = "${MODEL}"
model_provider = "realizar"
model_context_window = 12288
model_instructions_file = "${home}/instructions.md"
web_search = "disabled"
[features]
goals = false
multi_agent = false
apps = false
plugins = false
[model_providers.realizar]
name = "realizar"
base_url = "http://127.0.0.1:${relay.address().port}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`);
});
after(async () => {
  if (skip) return;
  relay.close();
  await fs.rm(home, {recursive: true});
  assert.equal(await server.stop(), 0);
});

// One turn of `codex exec`: the events that it prints, one per line.
async function turn(prompt, changed) {
  requests = [];
  change = changed;
  const args = ['exec', '--json', '--skip-git-repo-check', '--ephemeral', '--dangerously-bypass-approvals-and-sandbox'];
  const env = {PATH: process.env.PATH, HOME: home, CODEX_HOME: home};
  const child = spawn(codex, [...args, '-C', path.join(home, 'work'), prompt], {env, stdio: ['ignore', 'pipe', 'pipe'], timeout: DEADLINE_MS});
  let stdout = '', stderr = '';
  child.stdout.on('data', (bytes) => (stdout += bytes));
  child.stderr.on('data', (bytes) => (stderr += bytes));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, stdout + stderr);
  return stdout.trim().split('\n').map((line) => JSON.parse(line));
}
const itemsOf = (events, type) =>
  events.filter((event) => event.type === 'item.completed' && event.item.type === type).map((event) => event.item);

test('Codex asks and is answered', {skip}, async () => {
  const events = await turn('What is the capital of France?', () => ({}));
  assert.equal(requests.length, 1);
  assert.ok(requests[0].tools.length > 1);
  assert.equal(events.at(-1).type, 'turn.completed');
  assert.ok(events.at(-1).usage.input_tokens > 500);
  assert.ok(itemsOf(events, 'agent_message')[0].text.length > 0);
});

test('Codex runs the command of a call and goes on with what it printed', {skip}, async () => {
  const command = {type: 'object', properties: {cmd: {const: 'echo 6 times 7'}}, required: ['cmd'], additionalProperties: false};
  const forced = (n, {tools}) => n > 1 ? {} : {
    stop: null,
    tools: tools.map((tool) => tool.name === 'exec_command' ? {...tool, parameters: command} : tool),
    tool_choice: {type: 'function', name: 'exec_command'},
  };
  const events = await turn('Print 6 times 7.', forced);
  assert.equal(requests.length, 2);
  const ran = itemsOf(events, 'command_execution')[0];
  assert.equal(ran.aggregated_output.trim(), '6 times 7');
  assert.equal(ran.exit_code, 0);
  const result = requests[1].input.find((item) => item.type === 'function_call_output');
  assert.match(JSON.stringify(result.output), /6 times 7/);
  assert.equal(events.at(-1).type, 'turn.completed');
});
