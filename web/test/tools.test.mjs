// Tools of MCP servers at the page, against scripted calls: switches, questions, results, and what stops them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, ask, eventually, lastAnswer, send } from './browser.mjs';
import { scriptedPages } from './scripted_page.mjs';

const shared = scriptedPages();
const button = (page, name) => page.getByRole('button', { name, exact: true });

// A page with a server of its own that has tools, of which these are switched on.
async function openTools(t, ...on) {
  const { page, problems, server } = await shared.openOwn(t, { mcp: true });
  await button(page, 'Settings').click();
  for (const name of on) await page.getByRole('checkbox', { name, exact: true }).check();
  if (on.length > 0) await button(page, 'Close settings').click();
  return { page, problems, log: server.log };
}

test('without MCP servers there is nothing of tools', async (t) => {
  const { page, problems } = await shared.open(t);
  await button(page, 'Settings').click();
  await page.getByRole('heading', { name: 'API key' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Tools' }).count(), 0);
  await ask(page, 'tool');
  assert.equal(shared.server.log.bodies.at(-1).tools, undefined);
  assert.deepEqual(problems.filter((problem) => !problem.includes('404')), []);
});

test('tools are off until they are switched on, which the browser remembers', async (t) => {
  const { page, log } = await openTools(t);
  const read = page.getByRole('checkbox', { name: 'read', exact: true });
  assert.equal(await read.isChecked(), false);
  await page.getByText("MCP server 'broken': it cannot be reached").waitFor();
  await page.getByText("a tool is left out, 'x y'").waitFor();
  assert.match(await page.locator('.tools small').first().innerText(), /Reads a file\. \\u\{202e\}\\u\{1b\}\[31m<img/);
  await button(page, 'Close settings').click();
  await ask(page, 'tool');
  assert.equal(log.bodies.at(-1).tools, undefined);
  await button(page, 'Settings').click();
  await read.check();
  await page.reload();
  await button(page, 'Settings').click();
  assert.equal(await read.isChecked(), true);
  await button(page, 'Close settings').click();
  await send(page, 'tool');
  await button(page, 'Allow once').waitFor();
  assert.deepEqual(log.bodies.at(-1).tools.map((tool) => tool.name), ['files__read']);
  await button(page, 'Stop').click();
});

test('a call is shown, asked about and made, and its result goes back', async (t) => {
  const { page, problems, log } = await openTools(t, 'read');
  await send(page, 'tool');
  const call = page.getByRole('region', { name: 'Call of files › read' });
  await button(page, 'Allow once').waitFor();
  assert.match(await call.innerText(), /"path": "a\.txt\\u\{202e\}\\u\{e006b\}"/);
  await page.getByText('A call of a tool waits for you').waitFor({ state: 'attached' });
  assert.equal(log.calls.length, 0);
  await button(page, 'Allow once').click();
  await answered(page);
  assert.deepEqual(log.calls, [{ tool: 'read', arguments: { path: 'a.txt\u202e\u{e006b}' } }]);
  assert.equal(await call.getByText('Done', { exact: true }).count(), 1);
  assert.equal(await call.locator('details').getAttribute('open'), null);
  await call.locator('summary').click();
  assert.match(await call.getByLabel('Result').innerText(), /<b>text<\/b> of a\.txt\\u\{202e\}\\u\{e006b\}/);
  assert.match(await lastAnswer(page).innerText(), /The tool said: text of a\.txt/);
  const [first, second, third] = log.bodies.at(-1).messages;
  assert.deepEqual([first.role, second.role, third.role], ['user', 'assistant', 'tool']);
  assert.equal(second.tool_calls[0].function.name, 'files__read');
  assert.deepEqual(third, { role: 'tool', tool_call_id: second.tool_calls[0].id, content: '<b>text</b> of a.txt\u202e\u{e006b}' });
  assert.equal(await page.evaluate(() => window.__pwned), undefined);
  assert.deepEqual(problems.filter((problem) => !problem.includes('502')), []);
});

test('what is denied is not made, and the model is told', async (t) => {
  const { page, log } = await openTools(t, 'read');
  await send(page, 'tool');
  await button(page, 'Deny').click();
  const answer = await answered(page);
  assert.equal(log.calls.length, 0);
  assert.match(await answer.innerText(), /the person did not allow it/);
});

test('a tool that is always allowed is asked about once, and no other with it', async (t) => {
  const { page, log } = await openTools(t, 'read', 'write');
  await send(page, 'tool');
  await button(page, 'Always allow this tool').click();
  await answered(page);
  await send(page, 'two tools');
  const write = page.getByRole('region', { name: 'Call of files › write' });
  await write.getByRole('button', { name: 'Allow once' }).click();
  await answered(page);
  assert.deepEqual(log.calls.map(({ tool }) => tool), ['read', 'read', 'write']);
  assert.equal(await write.getByText('Failed', { exact: true }).count(), 1);
});

test('a call of no tool is an error that the model gets, and the person is told', async (t) => {
  const { page } = await openTools(t, 'read', 'write');
  assert.match(await (await ask(page, 'no such tool')).innerText(), /there is no tool called files__none; the tools are files__read, files__write/);
  await page.getByText('The model called files__none, a tool that is not there.').waitFor();
});

test('a tool may be called without the name of its server', async (t) => {
  const { page, log } = await openTools(t, 'read');
  await send(page, 'bare tool');
  await page.getByRole('region', { name: 'Call of files › read' }).getByRole('button', { name: 'Always allow this tool' }).click();
  await answered(page);
  await ask(page, 'tool');
  assert.deepEqual(log.calls.map(({ tool }) => tool), ['read', 'read']);
});

test('the stop button ends a question, and a call that runs', async (t) => {
  const { page, log } = await openTools(t, 'read');
  await send(page, 'tool');
  await button(page, 'Allow once').waitFor();
  await button(page, 'Stop').click();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  await button(page, 'Send').waitFor();
  log.holdCalls = true;
  await send(page, 'tool');
  await button(page, 'Allow once').click();
  await page.getByText('Running', { exact: true }).waitFor();
  await eventually(() => log.calls.length === 1, 'the call does not reach the server');
  await button(page, 'Stop').click();
  await page.getByText('Cancelled', { exact: true }).nth(1).waitFor();
  await button(page, 'Send').waitFor();
  await eventually(() => log.aborted === 1, 'the server does not see the stop');
  const { messages } = log.bodies.at(-1);
  assert.equal(messages.find(({ role }) => role === 'tool').content, 'The call was cancelled.');
});

test('a model that calls for ever is ended', async (t) => {
  const { page, log } = await openTools(t, 'read');
  await send(page, 'tool for ever');
  await button(page, 'Always allow this tool').click();
  await page.getByText('still calling tools after 16 rounds').waitFor();
  assert.equal(log.calls.length, 16);
});

test('a chat with calls is kept, exported and brought back', async (t) => {
  const { page } = await openTools(t, 'read');
  await send(page, 'tool');
  await button(page, 'Allow once').click();
  await answered(page);
  await page.reload();
  await page.getByRole('region', { name: 'Call of files › read' }).waitFor();
  await button(page, 'This chat').click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'Export as JSON' }).click();
  const path = await (await downloading).path();
  await button(page, 'This chat').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await button(page, 'Settings').click();
  await page.locator('input[type=file][accept*=json]').setInputFiles({ name: 'chats.json', mimeType: 'application/json', buffer: await (await import('node:fs/promises')).readFile(path) });
  await page.getByText('Imported 1 chat.').waitFor();
  await button(page, 'Close settings').click();
  await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'tool' }).first().click();
  assert.equal(await page.getByRole('region', { name: 'Call of files › read' }).getByText('Done', { exact: true }).count(), 1);
});

test('a page that closes while a call waits cancels it', async (t) => {
  const { page } = await openTools(t, 'read');
  await send(page, 'tool');
  await button(page, 'Allow once').waitFor();
  await page.reload();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  assert.equal(await button(page, 'Allow once').count(), 0);
});
