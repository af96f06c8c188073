// The message box, settings, versions of answers, titles, languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, ask, enter, lastAnswer, send } from './browser.mjs';
import { pdfOf } from './pdf.mjs';
import { scriptedPages } from './scripted_page.mjs';

const shared = scriptedPages();
const { open } = shared;
const composer = (page) => page.getByLabel('Message', { exact: true });
const lastBody = () => shared.server.log.bodies.at(-1);
const attach = (page, name, mimeType, text) => page.locator('.composer input[type=file]').setInputFiles({ name, mimeType, buffer: Buffer.from(text) });

test('a number out of range stays marked with its reason, and the one before it is used', async (t) => {
  const { page } = await open(t);
  await page.getByRole('button', { name: 'Settings' }).click();
  for (const [label, wrong, reason, right] of [
    ['Temperature', '-3', /From 0 to 2\./, '0.5'],
    ['Top p', '7', /From 0 to 1\./, '0.9'],
    ['Repetition penalty', '0', /Above 0, up to 2\./, '1.1'],
    ['Max tokens', '0', /At least 1\./, '9'],
    ['Top k', '2.5', /Not a whole number\./, '7'],
  ]) {
    const field = page.getByLabel(label, { exact: true });
    await enter(field, wrong);
    await page.locator('.field', { has: field }).getByText(reason).waitFor();
    assert.deepEqual([await field.inputValue(), await field.getAttribute('aria-invalid')], [wrong, 'true'], label);
    if (label === 'Temperature') {
      await ask(page, 'hello');
      assert.equal(lastBody().temperature, undefined);
    }
    await enter(field, right);
    assert.equal(await field.getAttribute('aria-invalid'), 'false', label);
  }
  await ask(page, 'hello');
  const { temperature, top_p, top_k, repetition_penalty, max_output_tokens } = lastBody();
  assert.deepEqual({ temperature, top_p, top_k, repetition_penalty, max_output_tokens }, { temperature: 0.5, top_p: 0.9, top_k: 7, repetition_penalty: 1.1, max_output_tokens: 9 });
});

test('the form of answers, the effort of reasoning and the order of samplers are sent', async (t) => {
  const { page } = await open(t);
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Reasoning effort').selectOption('Low');
  const samplers = page.getByLabel('Order of samplers');
  await enter(samplers, 'top_k, nonsense');
  await page.getByText('There is no sampler nonsense.').waitFor();
  await enter(samplers, 'top_k temperature');
  await page.getByLabel('Form of the answers').selectOption('A JSON Schema');
  const schema = page.getByLabel('JSON Schema', { exact: true });
  await enter(schema, '{"type": "object"');
  await page.getByText('This is not a JSON object.').waitFor();
  await enter(schema, '{"type": "object", "required": ["a"]}');
  await ask(page, 'hello');
  assert.deepEqual([lastBody().json_schema, lastBody().reasoning, lastBody().samplers], [{ type: 'object', required: ['a'] }, { effort: 'low' }, ['top_k', 'temperature']]);
  await page.getByLabel('Form of the answers').selectOption('A grammar');
  await enter(page.getByLabel('Grammar (GBNF)'), 'root ::= "yes" | "no"');
  await ask(page, 'hello');
  assert.deepEqual([lastBody().json_schema, lastBody().grammar], [undefined, 'root ::= "yes" | "no"']);
});

test('Up brings the last message back, and ? shows the shortcuts', async (t) => {
  const { page } = await open(t);
  await ask(page, 'hello there');
  await composer(page).press('ArrowUp');
  assert.equal(await composer(page).inputValue(), 'hello there');
  await composer(page).fill('');
  await composer(page).press('?');
  assert.equal(await page.locator('dialog').count(), 0, 'a question mark is a character of a message');
  await composer(page).fill('');
  await page.locator('.scroll').focus();
  await page.keyboard.press('?');
  assert.match(await page.getByRole('dialog').innerText(), /Bring your last message back/);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('an answer can be edited, and written on from there', async (t) => {
  const { page } = await open(t);
  await ask(page, 'hello');
  await lastAnswer(page).getByRole('button', { name: 'Edit this answer' }).click();
  await page.getByLabel('Edit message').fill('Changed by hand');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  assert.match(await lastAnswer(page).innerText(), /Changed by hand[^]*2 \/ 2/);
  await lastAnswer(page).getByRole('button', { name: 'Edit this answer' }).click();
  await page.getByLabel('Edit message').fill('It begins');
  await page.getByRole('button', { name: 'Save and continue' }).click();
  assert.match(await (await answered(page)).innerText(), /It begins and the end\./);
  assert.equal(lastBody().continue_final_message, true);
  assert.deepEqual(lastBody().messages.at(-1), { role: 'assistant', content: 'It begins' });
});

test('a stopped answer can be continued', async (t) => {
  const { page } = await open(t);
  await send(page, 'slow');
  await page.waitForFunction(() => [...document.querySelectorAll('.answer')].at(-1)?.textContent.includes('One word'));
  await page.keyboard.press('Escape');
  await answered(page);
  await lastAnswer(page).getByRole('button', { name: 'Continue' }).waitFor();
});

test('a file that is too large for the context says so before it is sent, in tokens', async (t) => {
  const { page } = await open(t);
  await attach(page, 'small.txt', 'text/plain', 'word '.repeat(200));
  await page.locator('.composer .length').getByText(/^\d+ tokens$/).waitFor();
  await attach(page, 'large.txt', 'text/plain', 'word '.repeat(10_000));
  await page.locator('.composer .length').getByText(/^≈ 1\d,\d{3} tokens in all, and the model's context has 4,096/).waitFor();
  await page.getByRole('button', { name: 'Remove large.txt' }).click();
  await page.locator('.composer .length').getByText(/^\d+ tokens$/).waitFor();
});

test('the text of a PDF file goes into the prompt', async (t) => {
  const { page, problems } = await open(t);
  await attach(page, 'paper.pdf', 'application/pdf', pdfOf(['Hash tables are fast.', 'The second page.']));
  await page.locator('.composer .files').getByText('paper.pdf').waitFor();
  await ask(page, 'hello');
  assert.match(lastBody().messages.at(-1).content, /File paper\.pdf:\n```\nHash tables are fast\.\n\nThe second page\.\n```/);
  await attach(page, 'broken.pdf', 'application/pdf', '%PDF-1.4 nothing more');
  await page.getByText(/broken\.pdf cannot be read as a PDF file/).waitFor();
  assert.deepEqual(problems, []);
});

test('the model writes a title when nothing else is asked of it, and a name that was given stays', async (t) => {
  const { page } = await open(t, { titles: true });
  await ask(page, 'hello');
  await page.locator('.sidebar li').getByText('Scripted title').waitFor();
  await page.evaluate(() => location.hash = '');
  await ask(page, 'hello again');
  await page.getByRole('button', { name: 'This chat' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByLabel('Title', { exact: true }).fill('My own');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await ask(page, 'and more');
  await page.locator('.sidebar li').getByText('My own').waitFor();
});

test('speaks German to a German browser, and English where that is chosen', async (t) => {
  const { page, problems } = await openGerman(t);
  await page.getByText('Worum geht es?').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'de');
  await page.getByRole('button', { name: 'Einstellungen', exact: true }).click();
  await page.getByLabel('Sprache').selectOption('English');
  await page.getByText('What is on your mind?').waitFor();
  assert.deepEqual(problems, []);
});

async function openGerman(t) {
  const context = await shared.browser.newContext({ locale: 'de-DE' });
  t.after(() => context.close());
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(shared.server.url);
  return { page, problems };
}
