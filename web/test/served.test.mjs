// The page as the real server serves it: served.test.mjs REALIZAR.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, eventually, launch, openPage, send, showView } from './browser.mjs';
import { startHub } from './hub.mjs';
import { serve } from './program.mjs';

let browser;
let server;
before(async () => {
  browser = await launch();
  server = await serve();
});
after(async () => {
  await browser.close();
  await server.stop();
});

test('asks the model and shows its answer', async (t) => {
  const { page, problems } = await openPage(t, browser, server.url);
  const answer = await ask(page, 'What is the capital of France?');
  assert.match(await answer.innerText(), /[A-Z].*\./);
  assert.match(await answer.locator('.stats').innerText(), /to first token/);
  const story = await ask(page, 'Tell me a short story.'); // a rate wants 20 tokens
  assert.match(await story.locator('.stats').innerText(), /tokens\/s/);
  assert.deepEqual(problems, []);
});

test('stops an answer, and the server with it', async (t) => {
  const { page, problems } = await openPage(t, browser, server.url);
  await page.route('**/v1/responses', (route) => {
    // The tiny model ends soon; it is told not to.
    const body = { ...route.request().postDataJSON(), ignore_eos: true };
    return route.continue({ postData: JSON.stringify(body) });
  });
  await send(page, 'Tell me a story');
  await page.waitForFunction(() => document.querySelector('.answer .markdown')?.textContent.length > 20);
  await page.keyboard.press('Escape');
  await page.locator('.answer[aria-busy=false]').last().waitFor();
  const running = async () => /vllm:num_requests_running\{[^}]*\} (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())[1];
  await eventually(async () => (await running()) === '0', 'the server goes on');
  assert.deepEqual(problems, []);
});

test('goes on with an answer after a reload', async (t) => {
  const { page } = await openPage(t, browser, server.url);
  await page.route('**/v1/responses', (route) => {
    const body = { ...route.request().postDataJSON(), ignore_eos: true };
    return route.continue({ postData: JSON.stringify(body) });
  });
  await send(page, 'Tell me a story');
  await page.waitForFunction(() => document.querySelector('.answer .markdown')?.textContent.length > 20);
  await page.reload();
  await page.getByText('The answer was cut at its limit.').waitFor(); // the end of the context
  const { data } = await (await fetch(`${server.url}/v1/models`)).json();
  const [, used, of] = /([\d,]+) of ([\d,]+)/.exec(await page.locator('.stats').innerText()).map((text) => Number(text.replace(',', '')));
  assert.deepEqual([used, of], [data[0].context_length, data[0].context_length]);
});

test('draws what the server did before the view was opened', async (t) => {
  const { page, problems } = await openPage(t, browser, server.url);
  await ask(page, 'What is the capital of France?');
  await showView(page, 'Metrics');
  // A level line has no height, which counts as hidden.
  await page.locator('.plot path').first().waitFor({ state: 'attached' });
  assert.equal(await page.locator('.chart').count(), 6);
  assert.match(await page.locator('.chart', { hasText: 'Memory' }).innerText(), /process\s+[\d.]+ (MB|GB)/);
  assert.match(await page.locator('.models tbody').innerText(), /realizar-tiny\s+ready/);
  await page.waitForFunction(() => /Answered\s+[1-9]/.test(document.querySelector('.facts').innerText));
  assert.deepEqual(problems, []);
});

test('knows the toy, what it takes by default, and continues its answer', async (t) => {
  const { page, problems } = await openPage(t, browser, server.url);
  await page.getByText(/toy of [\d.]+M parameters/).waitFor();
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  assert.equal(await page.getByLabel('Temperature').getAttribute('placeholder'), '0.8');
  await page.getByLabel('Temperature').fill('0');
  await page.getByLabel('Max tokens').fill('3');
  await page.getByLabel('Max tokens').press('Tab');
  const answer = await ask(page, 'What is the capital of France?');
  await page.getByLabel('Max tokens').fill('');
  await page.getByLabel('Max tokens').press('Tab');
  await answer.getByRole('button', { name: 'Continue' }).click();
  await page.locator('.answer').getByText('The capital of France is Paris.').waitFor();
  assert.deepEqual(problems, []);
});

test('finds, downloads, loads, uses, unloads and deletes a model', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'realizar-page-'));
  t.after(() => rm(folder, { recursive: true }));
  const hub = await startHub('maker/tiny-chat-GGUF', 1234);
  t.after(hub.close);
  const managed = await serve('--manage-models', '--models-store', join(folder, 'store'), '--mirror', hub.url, '--ctx', '512');
  t.after(managed.stop);
  const { page, problems } = await openPage(t, browser, managed.url);
  await showView(page, 'Models');
  const row = (name) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  await row('realizar-tiny').getByText('in use').waitFor();
  assert.match(await row('realizar-tiny').innerText(), /Q8_0[^]*chat[^]*loaded/);
  assert.match(await page.locator('.places').innerText(), /Memory: [\d.]+ GB of [\d.]+ GB free/);
  await page.getByRole('searchbox').fill('tiny chat');
  await page.keyboard.press('Enter');
  await page.getByText('1,234 downloads').waitFor();
  await page.getByRole('button', { name: 'Sizes of hf:maker/tiny-chat-GGUF' }).click();
  const name = 'hf:maker/tiny-chat-GGUF:Q8_0';
  await page.getByRole('button', { name: `Download ${name}` }).click();
  await page.getByRole('button', { name: `Load: ${name}` }).click();
  await row(name).getByText('in use').waitFor();
  await page.getByRole('button', { name: `Unload: ${name}` }).click();
  await row(name).getByText('not loaded').waitFor();
  await page.getByRole('button', { name: `Chat: ${name}` }).click();
  const answer = await ask(page, 'What is the capital of France?');
  assert.match(await answer.innerText(), /[A-Z].*\./);
  await showView(page, 'Models');
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await row(name).waitFor({ state: 'detached' });
  const told = await (await fetch(`${managed.url}/v1/models`)).json();
  assert.deepEqual(told.data.map(({ id }) => id), ['realizar-tiny']);
  assert.deepEqual(problems, []);
});

test('without --manage-models the page says what is missing', async (t) => {
  const { page, problems } = await openPage(t, browser, server.url);
  await showView(page, 'Models');
  await page.getByText('Start the server with --manage-models').waitFor();
  assert.equal(await page.getByRole('main').getByRole('button').count(), 1);
  assert.deepEqual(problems, []);
});

test('works with an API key', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'realizar-page-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'keys'), 'secret-key\n');
  const locked = await serve('--api-keys', join(folder, 'keys'));
  t.after(() => locked.stop());
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(locked.url);
  const field = page.locator('input[type=password]');
  await field.waitFor();
  await field.fill('secret-key');
  await page.keyboard.press('Enter');
  await page.getByLabel('Message', { exact: true }).waitFor();
  const answer = await ask(page, 'What is the capital of France?');
  assert.match(await answer.innerText(), /[A-Z].*\./);
});
