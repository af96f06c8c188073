// The page against scripted answers. What a real server must do is in served.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';
import { answered, ask, enter, eventually, isFirefox, lastAnswer, openPage, send, showView } from './browser.mjs';
import { scriptedPages } from './scripted_page.mjs';
import { kXss, startScriptedServer } from './scripted_server.mjs';

const shared = scriptedPages();
const { open } = shared;

// The text of all answers that the browser keeps.
const keptText = () => new Promise((resolve, reject) => {
  const opening = indexedDB.open('realizar');
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const reading = opening.result.transaction('conversations').objectStore('conversations').getAll();
    reading.onerror = () => reject(reading.error);
    reading.onsuccess = () => {
      opening.result.close();
      resolve(reading.result.flatMap(({ messages }) => messages).filter(({ role }) => role === 'assistant').map(({ content }) => content).join(' '));
    };
  };
});

test('sends a turn and shows the answer with its numbers', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'hello');
  assert.match(await answer.innerText(), /How can I help you today\?/);
  assert.equal(await answer.locator('strong').innerText(), 'help');
  const stats = await answer.locator('.stats').innerText();
  assert.match(stats, /tokens\/s/);
  assert.match(stats, /to first token/);
  assert.match(stats, /1,040 of 4,096/);
  assert.deepEqual(problems, []);
});

test('knows the speed of an answer that comes in one piece', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'burst');
  assert.match(await answer.locator('.stats').innerText(), /^800 tokens\/s/);
  assert.deepEqual(problems, []);
});

test('streams, and stops on Escape and on the button; the server sees it', async (t) => {
  const { page, problems } = await open(t);
  for (const stop of [() => page.keyboard.press('Escape'), () => page.getByRole('button', { name: 'Stop' }).click()]) {
    const before = shared.server.log.aborted;
    await send(page, 'slow');
    await page.waitForFunction(() => [...document.querySelectorAll('.answer')].at(-1)?.textContent.includes('One word'));
    const early = (await lastAnswer(page).locator('.markdown').innerText()).length;
    await page.waitForFunction((n) => [...document.querySelectorAll('.answer .markdown')].at(-1).textContent.length > n + 20, early);
    await stop();
    assert.match(await (await answered(page)).innerText(), /Stopped\./);
    await eventually(() => shared.server.log.aborted > before, 'the server does not see the stop');
  }
  assert.deepEqual(problems, []);
});

test('an unchanged block keeps its nodes while the answer goes on', async (t) => {
  const { page } = await open(t);
  await send(page, 'code');
  await page.locator('.code').waitFor();
  await page.evaluate(() => { window.first = document.querySelector('.markdown > p'); });
  await answered(page);
  assert.ok(await page.evaluate(() => document.querySelector('.markdown > p') === window.first));
});

test('renders a table', async (t) => {
  const { page } = await open(t);
  const answer = await ask(page, 'table');
  assert.deepEqual(await answer.locator('td').allInnerTexts(), ['TCP', 'yes', '443', 'UDP', 'no', '53']);
  assert.equal(await answer.locator('td').nth(2).evaluate((cell) => getComputedStyle(cell).textAlign), 'right');
});

test('highlights code and copies it, and copies messages', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'code');
  assert.equal(await answer.locator('.hljs-keyword').first().innerText(), 'def');
  await answer.getByRole('button', { name: 'Copy code' }).click();
  await answer.getByRole('button', { name: 'Copied' }).waitFor();
  const code = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(code, 'def add(a, b):\n    """Adds."""\n    return a + b  # done');
  await answer.getByRole('button', { name: 'Copy message' }).click();
  await eventually(async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('Here it is:'), 'no message copied');
  assert.deepEqual(problems, []);
});

test('spells out what is not seen in code, also where it is copied; prose keeps its emoji', async (t) => {
  const { page } = await open(t);
  const answer = await ask(page, 'unseen');
  assert.match(await answer.locator('p').first().innerText(), /^Heart \u2764\ufe0f, \u{1f469}\u200d\u{1f680} and \\u\{202e\}gpj\.$/u);
  const line = 'print("a\\u{200b}\\u{202e}b")  # \\u{e0061}\\u{1b}[201~';
  assert.equal((await answer.locator('pre').innerText()).trim(), line);
  assert.equal(await answer.locator('p code').innerText(), 'rm\\u{2066} -rf');
  await answer.getByRole('button', { name: 'Copy code' }).click();
  await answer.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), line);
  await answer.getByRole('button', { name: 'Copy message' }).click();
  await eventually(async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('Heart'), 'no message copied');
  assert.doesNotMatch(await page.evaluate(() => navigator.clipboard.readText()), /[\u202e\x1b]/);
});

test('shows reasoning apart from the answer', async (t) => {
  const { page } = await open(t);
  const answer = await ask(page, 'think, then say hello');
  assert.match(await answer.locator('summary').innerText(), /Thought for/);
  assert.ok(!(await answer.locator('.reasoning .markdown').isVisible()));
  await answer.locator('summary').click();
  assert.match(await answer.locator('.reasoning .markdown').innerText(), /First I consider/);
});

test('answers again and edits, and keeps the older versions', async (t) => {
  const { page, problems } = await open(t);
  await ask(page, 'first');
  const answer = await ask(page, 'second');
  const before = await answer.locator('.markdown').innerText();
  await answer.getByRole('button', { name: 'Answer again' }).click();
  await answered(page);
  assert.match(await lastAnswer(page).innerText(), /2 \/ 2/);
  assert.notEqual(await lastAnswer(page).locator('.markdown').innerText(), before);
  await lastAnswer(page).getByRole('button', { name: 'Previous version' }).click();
  assert.equal(await lastAnswer(page).locator('.markdown').innerText(), before);

  const turn = page.locator('.user').first();
  await turn.hover();
  await turn.getByRole('button', { name: 'Edit and ask again' }).click();
  await page.getByLabel('Edit message').fill('changed');
  await page.keyboard.press('Enter');
  assert.match(await (await answered(page)).innerText(), /to turn 1: changed/);
  assert.equal(await page.locator('.turn').count(), 2);
  assert.deepEqual(shared.server.log.bodies.at(-1).messages, [{ role: 'user', content: 'changed' }]);
  await page.locator('.user').getByRole('button', { name: 'Previous version' }).click();
  assert.equal(await page.locator('.turn').count(), 4);
  assert.deepEqual(problems, []);
});

test('sends the system prompt and only the parameters that are set', async (t) => {
  const { page } = await open(t);
  await page.getByRole('button', { name: 'Settings' }).click();
  await enter(page.getByLabel('System prompt'), 'Be brief.');
  await enter(page.getByLabel('Temperature'), '0.7');
  await enter(page.getByLabel('Seed'), '42');
  await enter(page.getByLabel('Stop sequences'), 'END\n\n###');
  await page.getByLabel('Thinking').selectOption('Off');
  await page.getByRole('button', { name: /^scripted/ }).click();
  await page.getByRole('menuitemradio', { name: 'scripted-two' }).click();
  await ask(page, 'hello');
  const { messages, input: _, ...rest } = shared.server.log.bodies.at(-1);
  assert.deepEqual(messages[0], { role: 'system', content: 'Be brief.' });
  assert.deepEqual(rest, {
    model: 'scripted-two', temperature: 0.7, seed: 42, stop: ['END', '###'], chat_template_kwargs: { enable_thinking: false },
    stream: true, background: true,
  });
});

test('chats survive a reload; one can be deleted and brought back', async (t) => {
  const { page, problems } = await open(t);
  await ask(page, 'hello');
  await page.reload();
  assert.match(await (await answered(page)).innerText(), /How can I help/);
  await page.locator('.sidebar li').hover();
  await page.getByRole('button', { name: 'Menu of hello' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByText('No chats yet.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.sidebar li').waitFor();
  assert.deepEqual(problems, []);
});

test('an answer goes on after a reload', async (t) => {
  const { page, problems } = await open(t);
  await send(page, 'held');
  await eventually(() => page.evaluate(keptText).then((text) => text.includes('Before the reload')), 'the beginning is not kept');
  await page.reload();
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await eventually(() => shared.server.log.onRelease, 'the answer is not held');
  shared.server.log.onRelease();
  const answer = await answered(page);
  assert.match(await answer.innerText(), /Before the reload, and after it\./);
  assert.match(await answer.locator('.stats').innerText(), /1,040 of 4,096/);
  await eventually(() => shared.server.log.responses.size === 0, 'the server keeps the answer');
  assert.deepEqual(problems, []);
});

test('an answer goes on after its connection was lost', async (t) => {
  const { page } = await open(t);
  await send(page, 'lost connection');
  await lastAnswer(page).getByText('The first half,').waitFor(); // a browser loses what it has not read yet
  await eventually(() => shared.server.log.onRelease, 'the answer is not held');
  shared.server.log.onRelease();
  assert.match(await (await answered(page)).innerText(), /The first half, and the second\./);
});

test('a server without room to keep answers gives them all the same', async (t) => {
  const { page } = await open(t);
  assert.match(await (await ask(page, 'no room')).innerText(), /Answer \d+ to turn 1: no room/);
});

test('an answer that the server no longer has keeps its beginning and offers a retry', async (t) => {
  const { page } = await open(t);
  await send(page, 'slow');
  await eventually(() => page.evaluate(keptText).then((text) => text.includes('One word after')), 'the beginning is not kept');
  const forgotten = [...shared.server.log.responses.values()];
  shared.server.log.responses.clear();
  t.after(() => forgotten.forEach((answer) => answer.close()));
  await page.reload();
  const answer = await answered(page);
  assert.match(await answer.innerText(), /One word after[^]*The page was closed while/);
  await answer.getByRole('button', { name: 'Retry' }).waitFor();
});

test('exports and imports chats', { skip: isFirefox && 'Playwright sees no downloads of Firefox' }, async (t) => {
  const { page, problems } = await open(t);
  await ask(page, 'hello');
  await page.getByRole('button', { name: 'Settings' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export all' }).click()]);
  const path = await file.path();
  await page.locator('.settings input[type=file]').setInputFiles(path);
  await page.getByText('The chat of this file is here already.').waitFor();
  assert.equal(await page.locator('.sidebar li').count(), 1);
  await page.locator('.sidebar li').hover();
  await page.getByRole('button', { name: 'Menu of hello' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByText('No chats yet.').waitFor();
  await page.locator('.settings input[type=file]').setInputFiles(path);
  await page.getByText('Imported 1 chat.').waitFor();
  await page.locator('.sidebar li a').click();
  await page.getByLabel('This chat').click();
  const [markdown] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Export as Markdown' }).click()]);
  assert.equal(markdown.suggestedFilename(), 'hello.md');
  assert.deepEqual(problems, []);
});

test('says that storage is full', async (t) => {
  const { page } = await open(t);
  await page.evaluate(() => { IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; });
  await ask(page, 'hello');
  await page.getByText(/storage of this browser is full/).waitFor();
});

for (const [prompt, message] of [
  ['http error', 'The scripted server fails.'],
  ['stream error', 'The model ran out of scripted memory.'],
  ['drop', 'The connection to the server was lost.'],
]) {
  test(`shows "${prompt}" in place with a retry`, async (t) => {
    const { page } = await open(t);
    const answer = await ask(page, prompt);
    assert.ok((await answer.getByRole('alert').innerText()).includes(message));
    const before = shared.server.log.bodies.length;
    await answer.getByRole('button', { name: 'Retry' }).click();
    await eventually(() => shared.server.log.bodies.length > before, 'nothing is sent again');
  });
}

test('says when the server cannot be reached', async (t) => {
  const own = await startScriptedServer();
  const { page } = await openPage(t, shared.browser, own.url);
  await own.close();
  const answer = await ask(page, 'hello');
  assert.match(await answer.getByRole('alert').innerText(), /The server cannot be reached\./);
});

test('model output cannot run script, load anything or restyle the page', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'xss');
  await answer.locator('.markdown').hover();
  for (const link of await answer.locator('.markdown a').all()) {
    assert.match(await link.getAttribute('href'), /^https?:/);
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
    assert.equal(await link.getAttribute('target'), '_blank');
  }
  assert.equal(await answer.locator('.markdown').locator('img, script, style, svg:not(.icon), math, iframe, object, form, [style], [onclick]').count(), 0);
  assert.equal(await page.locator('.scrim').count(), 0);
  assert.equal(await page.evaluate(() => window.__pwned), undefined);
  assert.deepEqual(problems, []);
});

test('the sanitiser holds alone, without Markdown and without a policy', async (t) => {
  const { outputFiles } = await build({
    stdin: { contents: "export { sanitise } from './src/sanitise.ts'", resolveDir: new URL('..', import.meta.url).pathname },
    bundle: true, write: false, format: 'iife', globalName: 'bundle', jsx: 'automatic', jsxImportSource: 'preact',
  });
  const context = await shared.browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.addScriptTag({ content: outputFiles[0].text });
  for (const html of kXss) {
    const left = await page.evaluate((html) => {
      document.body.replaceChildren(globalThis.bundle.sanitise(html));
      return document.body.innerHTML;
    }, html);
    assert.doesNotMatch(left, /<(?:script|img|svg|math|iframe|style|object|form|video|link|base|meta|details)|<[^>]*\s(?:on\w+|style)=|href="(?!https?:)/i, html);
  }
  // An image that fails later than any that may be left.
  await page.evaluate(() => new Promise((resolve) => {
    const image = new Image();
    image.onerror = resolve;
    image.src = 'x';
  }));
  assert.equal(await page.evaluate(() => window.__pwned), undefined);
});

test('images become links', async (t) => {
  const { page, problems } = await open(t);
  const answer = await ask(page, 'image');
  assert.deepEqual(await answer.locator('.markdown a').allInnerTexts(), ['a cat', 'a page']);
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(problems, []);
});

test('asks for an API key, and keeps it', async (t) => {
  const { page } = await shared.openOwn(t, { key: 'secret' });
  await page.getByRole('dialog').waitFor();
  await page.getByRole('textbox', { name: 'API key' }).fill('secret');
  await page.getByRole('button', { name: 'Use key' }).click();
  await page.locator('.model').waitFor();
  assert.match(await (await ask(page, 'hello')).innerText(), /How can I help/);
  await page.reload();
  await page.locator('.model').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('shows the models whose list comes between the first render and its effects', async (t) => {
  const { page } = await open(t);
  await page.addInitScript(() => {
    const later = window.setTimeout;
    window.setTimeout = (run, ms = 0) => later(run, ms + 500);
    window.requestAnimationFrame = (run) => later(run, 500);
  });
  await page.route('**/v1/models', async (route) => {
    await page.locator('header').waitFor();
    await route.continue();
  });
  await page.reload();
  await page.locator('.model').waitFor();
});

// Firefox without a mouse focuses nothing by itself.
test('the keyboard is enough', { skip: isFirefox }, async (t) => {
  const { page } = await open(t);
  await page.waitForFunction(() => document.activeElement.id === 'message');
  await page.keyboard.type('two');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('lines');
  await page.keyboard.press('Enter');
  await answered(page);
  assert.equal(shared.server.log.bodies.at(-1).messages[0].content, 'two\nlines');
  await page.keyboard.press('Control+k');
  await page.getByRole('heading', { name: 'What is on your mind?' }).waitFor();
  await page.keyboard.type('hello');
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'hello');
});

test('follows the system to dark, and its own switch', { skip: isFirefox }, async (t) => {
  const { page } = await open(t, { colorScheme: 'dark' });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByRole('button', { name: 'Theme: as the system' }).click();
  const light = await background();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await background(), light);
});

for (const width of [320, 360, 390]) test(`fits a phone of ${width} px`, async (t) => {
  const { page } = await open(t, { viewport: { width, height: 740 }, isMobile: true, hasTouch: true });
  const overflows = () => page.evaluate((width) => document.documentElement.scrollWidth > width || [...document.querySelectorAll('.scroll, .metrics')].some((each) => each.scrollWidth > each.clientWidth), width);
  assert.ok(!(await overflows()));
  await page.evaluate(() => location.hash = '');
  const header = await page.locator('header').evaluate((bar) => {
    const boxes = [...bar.querySelectorAll('button, a, .model')].filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect());
    const overlap = boxes.some((one, idx) => boxes.slice(idx + 1).some((other) => one.right > other.left + 0.5 && other.right > one.left + 0.5 && !(one.left <= other.left && one.right >= other.right)));
    return { overlap, height: bar.offsetHeight };
  });
  assert.ok(!header.overlap && header.height <= 64, JSON.stringify(header));
  await ask(page, 'wide');
  assert.ok(!(await overflows()));
  await page.getByRole('button', { name: 'Show chats' }).click();
  await page.getByRole('link', { name: 'New chat' }).waitFor();
  await page.getByRole('button', { name: 'Hide chats' }).click();
  await showView(page, 'Metrics');
  await page.locator('.plot path').first().waitFor();
  assert.ok(!(await overflows()));
});

test('draws the last hour as the server kept it', async (t) => {
  const { page, problems } = await open(t);
  await showView(page, 'Metrics');
  await page.locator('.plot path').first().waitFor();
  assert.equal(await page.locator('.chart').count(), 6);
  const tokens = page.locator('.chart', { hasText: 'Tokens per second' });
  assert.match(await tokens.locator('.legend').first().innerText(), /generated \d+/);
  assert.ok((await tokens.locator('path').first().getAttribute('d')).split('L').length > 700, 'an hour of samples');
  assert.match(await page.locator('.facts').innerText(), /Running for\s+2 h 15 min[^]*Refused\s+7[^]*Prompt from cache\s+62 %/);
  assert.deepEqual(await page.locator('.models tbody tr').nth(1).locator('td').first().innerText(), 'unloaded');
  assert.deepEqual(problems, []);
});

test('says that the metrics are not shown, where they are not', async (t) => {
  const { page } = await open(t);
  await page.route('**/metrics/history*', (route) => route.fulfill({ status: 404, body: 'Not Found' }));
  await showView(page, 'Metrics');
  await page.getByText('This server shows no metrics here').waitFor();
});

test('says in words that there is nothing to draw yet', async (t) => {
  const { page } = await shared.openOwn(t, { idle: true });
  await showView(page, 'Metrics');
  await page.getByText('No request ran when a sample was taken').first().waitFor();
  const scale = await page.locator('.chart', { hasText: 'Requests' }).first().locator('text').allTextContents();
  assert.equal(new Set(scale).size, scale.length, `${scale}`);
});
