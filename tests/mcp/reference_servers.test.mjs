// realizar as the client of the protocol's reference servers, which it starts as programs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

const kProgram = process.env.REALIZAR_BIN;
const kCommand = (name) => join(import.meta.dirname ?? process.cwd(), 'node_modules/.bin', name);

// A server with the chat page's tools: those of the two programs.
async function serve(t) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'realizar-mcp-')));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'note.txt'), 'The word is Paris.');
  const servers = {
    files: { command: kCommand('mcp-server-filesystem'), args: [folder] },
    everything: { type: 'stdio', command: kCommand('mcp-server-everything'), args: ['stdio'] },
  };
  const config = join(folder, 'mcp.json');
  await writeFile(config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
  const child = spawn(kProgram, ['serve', '--port', '0', '--mcp-config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGTERM'));
  for await (const line of createInterface(child.stdout)) {
    const base = /listens on (\S+),/.exec(line)?.[1];
    if (base) return { base, folder };
  }
  throw new Error('the server did not start');
}

test('files are listed and read, everything answers', async (t) => {
  const { base, folder } = await serve(t);
  const names = async (server) => (await (await fetch(`${base}/mcp/${server}/tools`)).json()).tools.map(({ name }) => name);
  const call = async (server, tool, args) =>
    (await fetch(`${base}/mcp/${server}/call`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ tool, arguments: args }) })).json();

  assert.ok((await names('files')).includes('read_text_file'));
  const path = join(folder, 'note.txt');
  assert.match((await call('files', 'read_text_file', { path })).text, /The word is Paris\./);
  assert.match((await call('files', 'list_directory', { path: folder })).text, /note\.txt/);
  const refused = await call('files', 'read_text_file', { path: '/etc/hostname' });
  assert.equal(refused.is_error, true);

  assert.ok((await names('everything')).includes('echo'));
  assert.match((await call('everything', 'echo', { message: 'hello' })).text, /hello/);
  assert.match((await call('everything', 'get-sum', { a: 2, b: 3 })).text, /5/);
});
