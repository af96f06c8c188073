// What a person does at the page beyond asking, against scripted answers.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { answered, ask, eventually, lastAnswer, send, showView } from './browser.mjs';
import { scriptedPages } from './scripted_page.mjs';

const shared = scriptedPages();
const { open } = shared;
const composer = (page) => page.getByLabel('Message', { exact: true });

async function files(t, contents) {
  const folder = await mkdtemp(join(tmpdir(), 'realizar-files-'));
  t.after(() => rm(folder, { recursive: true }));
  const paths = Object.entries(contents).map(([name, text]) => [join(folder, name), text]);
  await Promise.all(paths.map(([path, text]) => writeFile(path, text)));
  return paths.map(([path]) => path);
}

// Drops a file on `target`; returns whether the page kept the browser from leaving for it.
const drop = (page, target, name, text) => page.locator(target).first().evaluate((element, { name, text }) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: 'text/plain' }));
  return !element.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
}, { name, text });

test('no button is dead: the sidebar goes and comes back, and stays so', async (t) => {
  const { page } = await open(t);
  const sidebar = page.getByRole('navigation', { name: 'Chats' });
  assert.ok(!(await page.getByRole('button', { name: 'Show chats' }).isVisible()));
  await page.getByRole('button', { name: 'Hide chats' }).click();
  assert.ok(!(await sidebar.isVisible()));
  await page.reload();
  await composer(page).waitFor();
  assert.ok(!(await sidebar.isVisible()));
  await page.getByRole('button', { name: 'Show chats' }).click();
  assert.ok(await sidebar.isVisible());
});

test('between phone and desktop nothing covers the page but open settings', async (t) => {
  const { page } = await open(t, { viewport: { width: 850, height: 700 } });
  await page.getByRole('button', { name: 'Hide chats' }).click();
  await page.getByRole('button', { name: 'Show chats' }).click();
  assert.equal(await page.locator('.scrim').count(), 0);
});

test('offers a small model what it can do, and says that it is a toy', async (t) => {
  const { page } = await shared.openOwn(t, { models: [{ id: 'tiny', n_params: 4_500_000, context_length: 1024, state: 'ready' }] });
  await page.getByText('a toy of 4.5M parameters').waitFor();
  await page.getByRole('button', { name: 'What is the capital of France?' }).click();
  assert.equal(await composer(page).inputValue(), 'What is the capital of France?');
  const { page: large } = await open(t);
  await large.getByRole('button', { name: /hash table/ }).waitFor();
});

test('draws mathematics, and none in code or prices', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'math');
  assert.equal(await answer.locator('math').count(), 7);
  assert.equal(await answer.locator('.formula.display math').count(), 2);
  assert.equal(await answer.locator('mfrac').count(), 3);
  assert.match(await answer.innerText(), /It costs \$5 here and \$10 there; \$x\$ is code/);
  assert.match(await answer.locator('pre').innerText(), /\$\$not a formula\$\$/);
  const height = await answer.locator('.formula.display').first().evaluate((element) => element.getBoundingClientRect().height);
  assert.ok(height > 40, `the fractions stand above each other: ${height} px`);
  assert.deepEqual(problems, []);
});

test('TeX that is wrong or wants more than to be drawn stays text', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'badtex');
  assert.match(await answer.innerText(), /notacommand/);
  assert.equal(await answer.locator('a').count(), 0);
  assert.deepEqual(problems, []);
});

test('text files go into the prompt, by button, drop and paste', async (t) => {
  const { page, problems } = await open(t);
  await page.locator('.composer input[type=file]').setInputFiles(await files(t, { 'notes.md': 'Use ```fences```.\n' }));
  await page.getByText('notes.md').waitFor();
  assert.ok(await drop(page, '.scroll', 'b.txt', 'second'), 'the browser would leave the page');
  await page.getByText('b.txt').waitFor();
  await composer(page).evaluate((area) => {
    const data = new DataTransfer();
    data.items.add(new File(['third'], 'c.txt', { type: 'text/plain' }));
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await page.getByText('c.txt').waitFor();
  await page.getByRole('button', { name: 'Remove c.txt' }).click();
  await ask(page, 'What do they say?');
  assert.deepEqual(shared.server.log.bodies.at(-1).messages, [{
    role: 'user',
    content: 'File notes.md:\n````\nUse ```fences```.\n````\n\nFile b.txt:\n```\nsecond\n```\n\nWhat do they say?',
  }]);
  assert.deepEqual(await page.locator('.user .files span').allInnerTexts(), ['notes.md', 'b.txt']);
  assert.equal(await page.locator('.composer .files').count(), 0);
  assert.deepEqual(problems, []);
});

test('files that are no text are refused by name, and no drop leaves the page', async (t) => {
  const { page } = await open(t);
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 1]);
  await page.locator('.composer input[type=file]').setInputFiles(await files(t, { 'cat.png': png, 'big.txt': 'x'.repeat(1_100_000) }));
  await page.getByText(/cat\.png is neither text/).waitFor();
  await page.getByText(/big\.txt has 1\.1 MB/).waitFor();
  assert.equal(await page.locator('.composer .files').count(), 0);
  await showView(page, 'Metrics');
  assert.ok(await drop(page, 'body', 'a.txt', 'text'));
});

test('unsent text stays with its chat, over a reload too', async (t) => {
  const { page } = await open(t);
  await ask(page, 'hello');
  await composer(page).fill('half a thou');
  await page.keyboard.press('Control+k');
  await page.getByRole('heading', { name: 'What is on your mind?' }).waitFor();
  assert.equal(await composer(page).inputValue(), '');
  await composer(page).fill('another');
  await page.reload();
  await composer(page).waitFor();
  assert.equal(await composer(page).inputValue(), 'another');
  await page.locator('.sidebar li a').click();
  await lastAnswer(page).waitFor();
  assert.equal(await composer(page).inputValue(), 'half a thou');
  // Enter belongs to what has the focus, and the answer before this one is there already.
  await eventually(() => composer(page).evaluate((field) => field === document.activeElement), 'no focus');
  await page.keyboard.press('Enter');
  await eventually(async () => (await composer(page).inputValue()) === '', 'nothing was sent');
  await answered(page);
  assert.equal(await composer(page).inputValue(), '');
});

test('versions of a turn are always counted', async (t) => {
  const { page } = await open(t);
  await ask(page, 'first');
  await ask(page, 'second');
  await page.locator('.user').first().hover();
  await page.locator('.user').first().getByRole('button', { name: 'Edit and ask again' }).click();
  await page.getByLabel('Edit message').fill('changed');
  await page.keyboard.press('Enter');
  await answered(page);
  await page.mouse.move(5, 700);
  const counter = page.locator('.user .branches');
  assert.match(await counter.innerText(), /1? ?2 \/ 2/);
  assert.equal(await counter.evaluate((element) => getComputedStyle(element).opacity), '1');
  await ask(page, 'stream error');
  await lastAnswer(page).getByRole('button', { name: 'Retry' }).click();
  await answered(page);
  assert.match(await lastAnswer(page).innerText(), /2 \/ 2/, 'the half that had arrived is one click away');
});

test('hidden buttons leave no hole between question and answer', async (t) => {
  const { page } = await open(t);
  await ask(page, 'first');
  await ask(page, 'second');
  await page.mouse.move(5, 700);
  const gap = await page.evaluate(() => {
    const [bubble, answer] = [document.querySelector('.bubble'), document.querySelector('.answer .markdown')];
    return answer.getBoundingClientRect().top - bubble.getBoundingClientRect().bottom;
  });
  assert.ok(gap <= 32, `${gap} px`);
});

test('the view follows an answer to its end, unless the user scrolls up', async (t) => {
  const { page } = await open(t, { viewport: { width: 390, height: 600 } });
  const fromEnd = () => page.locator('.scroll').evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
  await ask(page, 'hash table');
  await page.waitForFunction(() => {
    const element = document.querySelector('.scroll');
    return element.scrollHeight - element.scrollTop - element.clientHeight < 2;
  });
  await send(page, 'slow');
  await page.waitForFunction(() => [...document.querySelectorAll('.answer .markdown')].at(-1)?.textContent.length > 600);
  await page.locator('.scroll').evaluate((element) => element.scrollTo({ top: 0 }));
  await page.getByRole('button', { name: 'Go to the end' }).waitFor();
  const before = (await lastAnswer(page).locator('.markdown').innerText()).length;
  await page.waitForFunction((n) => [...document.querySelectorAll('.answer .markdown')].at(-1).textContent.length > n + 50, before);
  assert.ok((await fromEnd()) > 100);
  await page.keyboard.press('Escape');
});

test('a full conversation goes on without its oldest turns', async (t) => {
  const { page } = await open(t);
  await ask(page, `hello ${'a'.repeat(160)}`);
  await ask(page, `hello ${'b'.repeat(160)}`);
  const refused = await ask(page, 'a long question');
  assert.match(await refused.getByRole('alert').innerText(), /The prompt has \d+ tokens, the model's context 400\./);
  assert.equal(await refused.getByRole('button', { name: 'Retry' }).count(), 0);
  await refused.getByRole('button', { name: 'Leave out the oldest turns' }).click();
  await answered(page);
  assert.match(await lastAnswer(page).innerText(), /a long question/);
  const { messages } = shared.server.log.bodies.at(-1);
  assert.equal(messages[0].role, 'user');
  assert.ok(!messages[0].content.includes('aaa'), 'the oldest turn is still sent');
  assert.equal(messages.at(-1).content, 'a long question');
  await page.getByText('The model no longer sees the turns above.').waitFor();
  await ask(page, `another long question ${'c'.repeat(180)}`);
  assert.match(await lastAnswer(page).innerText(), /another long question/, 'later turns slide by themselves');
  const first = page.locator('.user').first();
  await first.hover();
  await first.getByRole('button', { name: 'Edit and ask again' }).click();
  await page.getByLabel('Edit message').fill('a short one');
  await page.keyboard.press('Enter');
  await answered(page);
  assert.deepEqual(shared.server.log.bodies.at(-1).messages, [{ role: 'user', content: 'a short one' }], 'another branch begins whole');
});

test('a full conversation can begin anew with its last question', async (t) => {
  const { page } = await open(t);
  const refused = await ask(page, `long ${'x'.repeat(500)}`);
  await refused.getByRole('button', { name: 'New chat with this question' }).click();
  await page.getByRole('heading', { name: 'What is on your mind?' }).waitFor();
  assert.match(await composer(page).inputValue(), /^long x+$/);
});

test('an answer that was cut at its limit is continued in its place', async (t) => {
  const { page } = await open(t);
  const answer = await ask(page, 'cut');
  assert.match(await answer.innerText(), /The beginning\s+The answer was cut at its limit\./);
  await answer.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('The beginning and the end.').waitFor();
  assert.equal(await page.locator('.answer').count(), 1);
  const { messages, continue_final_message } = shared.server.log.bodies.at(-1);
  assert.equal(continue_final_message, true);
  assert.deepEqual(messages.at(-1), { role: 'assistant', content: 'The beginning' });
});

test('one message can be deleted, what follows stays, and Undo brings it back', async (t) => {
  const { page } = await open(t);
  await ask(page, 'first');
  await ask(page, 'second');
  await page.locator('.answer').first().hover();
  await page.locator('.answer').first().getByRole('button', { name: 'Delete message' }).click();
  assert.equal(await page.locator('.turn').count(), 3);
  await ask(page, 'third');
  const { messages } = shared.server.log.bodies.at(-1);
  assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant', 'user'], 'neighbours of one role are one message');
  assert.equal(messages[0].content, 'first\n\nsecond');
  await lastAnswer(page).getByRole('button', { name: 'Delete message' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await page.locator('.turn').count(), 5);
});

test('a wrong key is called wrong, and asked for where it is missed', async (t) => {
  const { page } = await shared.openOwn(t, { key: 'secret' });
  const dialog = page.getByRole('dialog');
  const field = page.getByRole('textbox', { name: 'API key' });
  await dialog.waitFor();
  assert.ok(!(await dialog.getByText('does not accept').isVisible()));
  await field.fill('wrong');
  await page.getByRole('button', { name: 'Use key' }).click();
  await dialog.getByText('The server does not accept this API key.').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await send(page, 'hello');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  const answer = await answered(page);
  await answer.getByRole('button', { name: 'Enter key' }).click();
  await field.fill('secret');
  await page.getByRole('button', { name: 'Use key' }).click();
  await page.locator('.model').waitFor();
  await answer.getByRole('button', { name: 'Retry' }).click();
  assert.match(await (await answered(page)).innerText(), /How can I help/);
});

test('menus open and close by keys, and a chat is renamed in the page', async (t) => {
  const { page, problems } = await open(t);
  await ask(page, 'hello');
  const button = page.getByRole('button', { name: 'This chat' });
  await button.focus();
  await page.keyboard.press('ArrowDown');
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  assert.equal(await focused(), 'Rename');
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), 'Delete');
  await page.keyboard.press('Home');
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('menu').count(), 0);
  assert.ok(await button.evaluate((element) => element === document.activeElement));
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'Title' }).fill('A better name');
  await page.keyboard.press('Enter');
  await page.locator('.sidebar li', { hasText: 'A better name' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.deepEqual(problems, []);
});

test('a title that is being typed survives an answer that arrives, and Esc in its dialog does not stop that', async (t) => {
  const { page } = await open(t);
  await send(page, 'slow');
  const length = () => lastAnswer(page).locator('.markdown').evaluate((element) => element.textContent.length);
  const grown = async () => {
    const before = await length();
    await page.waitForFunction((n) => [...document.querySelectorAll('.answer .markdown')].at(-1)?.textContent.length > n + 30, before);
  };
  await page.waitForFunction(() => document.querySelector('.answer .markdown')?.textContent.length > 20);
  await page.getByRole('button', { name: 'This chat' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  const title = page.getByRole('textbox', { name: 'Title' });
  await title.fill('A title half typ');
  await grown();
  assert.equal(await title.inputValue(), 'A title half typ');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await grown();
  await page.keyboard.press('Escape');
  assert.match(await (await answered(page)).innerText(), /Stopped/);
});

test('a key that is refused is asked for once, not with each reading of the metrics', async (t) => {
  const { page } = await shared.openOwn(t, { key: 'secret' });
  await page.keyboard.press('Escape');
  await page.clock.install();
  let asked = 0;
  page.on('request', (request) => { asked += request.url().includes('/metrics/history') ? 1 : 0; });
  await showView(page, 'Metrics');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.clock.runFor(30_000);
  assert.equal(asked, 1);
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('settings take the focus, give it back, and show what an empty field means', async (t) => {
  const { page } = await open(t);
  const button = page.getByRole('button', { name: 'Settings', exact: true });
  await button.click();
  assert.ok(await page.evaluate(() => document.activeElement.closest('.settings') !== null));
  assert.equal(await page.getByLabel('Temperature').getAttribute('placeholder'), '0.8');
  assert.equal(await page.getByLabel('Top k').getAttribute('placeholder'), '40');
  await page.getByText('0 always takes the likeliest token').waitFor();
  await page.keyboard.press('Escape');
  assert.ok(await button.evaluate((element) => element === document.activeElement));
});

test('the first tab stop leads to the message box', async (t) => {
  const { page } = await open(t);
  await page.evaluate(() => document.querySelector('a[href], button, input, textarea, [tabindex]').focus());
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Go to the message box');
  await page.keyboard.press('Enter');
  assert.ok(await composer(page).evaluate((area) => area === document.activeElement));
});

test('the notice stands in the middle of the chat, and titles take the whole width', async (t) => {
  const { page } = await open(t);
  await ask(page, 'a question with a title that is far longer than the sidebar is wide');
  const share = await page.locator('.sidebar li a').evaluate((link) => link.clientWidth / link.closest('li').clientWidth);
  assert.ok(share > 0.95, `${share}`);
  await page.locator('.sidebar li').hover();
  await page.locator('.sidebar li').getByRole('button', { name: /^Menu of/ }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const off = await page.locator('.notice').evaluate((notice) => {
    const middle = (element) => element.getBoundingClientRect().left + element.getBoundingClientRect().width / 2;
    return middle(notice) - middle(document.querySelector('.composer'));
  });
  assert.ok(Math.abs(off) < 1, `${off} px`);
});
