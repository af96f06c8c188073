// The page as the real server serves it: served.test.mjs REALIZAR.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, eventually, launch, openPage, send, showView } from './browser.mjs';
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
  assert.match(await answer.locator('.stats').innerText(), /tokens\/s/);
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
