// How answers look, on the screen and on paper, and that none of them holds up the page: in Chromium, and in Firefox where
// it is installed.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { ask, eventually, hasFirefox, lastAnswer, launch, launchFirefox, openPage } from './browser.mjs';
import { startScriptedServer } from './scripted_server.mjs';

const kMaxGapMs = 4_000; // the page stood still for 12 s and more, on an idle machine

// Answers of n characters that once froze the page.
const kHostile = {
  'a word before an @': (n) => `${'a'.repeat(n)}@`,
  'words with dots before an @': (n) => `${'a.'.repeat(n / 2)}@a`,
  headings: (n) => 'a\n-\n'.repeat(n / 4),
  paragraphs: (n) => 'a\n\n'.repeat(n / 3),
  spaces: (n) => `a${' '.repeat(n)}b`,
  emphasis: (n) => '*a_'.repeat(n / 3),
  quotes: (n) => '> '.repeat(n / 2),
  lists: (n) => '- '.repeat(n / 2),
  formulas: (n) => '\\['.repeat(n / 2),
  fences: (n) => '```\n```\n'.repeat(n / 8),
  table: (n) => '|a|b|\n|-|-|\n'.repeat(n / 12),
};

// The longest time that the page did not react, since the last call.
const watch = (page) => page.evaluate(() => {
  window.longestGap = 0;
  let last = performance.now();
  const beat = () => {
    const now = performance.now();
    window.longestGap = Math.max(window.longestGap, now - last);
    last = now;
    setTimeout(beat);
  };
  beat();
});
const longestGap = (page) => page.evaluate(() => Math.round(window.longestGap));

// How many times slower this machine is now than one without other work.
const slowness = (page) => page.evaluate(() => {
  const kNominalMs = 30;
  let longest = kNominalMs;
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now();
    for (let idx = 0, sum = 0; idx < 3e7; idx += 1) sum = (Math.imul(sum, 31) + idx) | 0;
    longest = Math.max(longest, performance.now() - start);
  }
  return longest / kNominalMs;
});

async function assertReacted(page, what) {
  const gap = await longestGap(page);
  const limit = kMaxGapMs * (await slowness(page));
  assert.ok(gap < limit, `${gap} ms ${what}, ${Math.round(limit)} ms allowed`);
}

// A chat in the browser's storage, which the page then shows.
async function openChat(page, messages) {
  await page.evaluate(async (contents) => {
    const messages = contents.map((content, idx) => ({
      id: `m${idx}`, parent: idx > 0 ? `m${idx - 1}` : null, role: idx % 2 === 0 ? 'user' : 'assistant', content, createdAt: idx, status: 'done', model: 'scripted',
    }));
    const opened = indexedDB.open('realizar', 1);
    await new Promise((resolve) => { opened.onsuccess = resolve; });
    const transaction = opened.result.transaction('conversations', 'readwrite');
    transaction.objectStore('conversations').put({ id: 'chat', title: 'A long chat', createdAt: 1, updatedAt: 1, messages, leaf: messages.at(-1).id, settings: {} });
    await new Promise((resolve) => { transaction.oncomplete = resolve; });
    opened.result.close();
    location.hash = '#/c/chat';
  }, messages);
  await page.reload();
  await lastAnswer(page).locator('.section:not(.far)').first().waitFor();
}

const kRich = (idx) => `Answer ${idx}: $x_${idx}^2 + \\frac{1}{2}$ and **bold**.\n\n| a | b |\n|---|---|\n| ${idx} | \`two\` |\n\n\`\`\`python\ndef f${idx}(x):\n    return x + 1\n\`\`\`\n\n1. one\n2. two`;
const longChat = (n) => Array.from({ length: n }, (_, idx) => (idx % 2 === 0 ? `Question ${idx}` : kRich(idx)));

// pdf.js asks for a newer Node.
Promise.withResolvers ??= () => {
  let resolvers;
  const promise = new Promise((resolve, reject) => { resolvers = { resolve, reject }; });
  return { promise, ...resolvers };
};

async function textOfPdf(bytes) {
  const pdf = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
  const pages = [];
  for (let nth = 1; nth <= pdf.numPages; nth += 1) pages.push((await (await pdf.getPage(nth)).getTextContent()).items.map(({ str }) => str).join(' '));
  return pages;
}

function tests(launchBrowser, hostile) {
  const shared = {};
  before(async () => {
    shared.browser = await launchBrowser();
    shared.server = await startScriptedServer();
  });
  after(async () => {
    await shared.browser.close();
    await shared.server.close();
  });
  const open = (t, options) => openPage(t, shared.browser, shared.server.url, options);
  const answer = async (t, page, text) => {
    shared.server.log.says = text;
    t.after(() => { shared.server.log.says = undefined; });
    return ask(page, 'say it');
  };

  for (const [name, text] of Object.entries(kHostile).filter(([each]) => hostile.includes(each))) {
    test(`100,000 characters of ${name} hold up nothing, and what follows is Markdown`, async (t) => {
      const { page, problems } = await open(t);
      await watch(page);
      await answer(t, page, `**before**\n\n${text(99_996)}\n\n\`\`\`\n\`\`\`\n\n**behind**`);
      await lastAnswer(page).locator('strong', { hasText: 'behind' }).waitFor();
      await assertReacted(page, 'while it streams');
      await page.getByRole('link', { name: 'Metrics' }).click();
      await watch(page);
      await page.goBack();
      await lastAnswer(page).locator('strong', { hasText: 'behind' }).waitFor();
      await assertReacted(page, 'when it is opened');
      assert.deepEqual(problems, []);
    });
  }

  test('390,000 characters are shown to their end', async (t) => {
    const { page } = await open(t);
    await watch(page);
    await answer(t, page, `${'a'.repeat(195_000)}\n\n${'a *b* '.repeat(32_500)}\n\nthe **end**`);
    await lastAnswer(page).locator('strong', { hasText: 'end' }).waitFor();
    await assertReacted(page, 'while it streams');
  });

  test('a chat of 1,000 messages opens at its end, soon, and takes keys meanwhile', async (t) => {
    const { page, problems } = await open(t);
    await openChat(page, longChat(1_000));
    await lastAnswer(page).locator('math').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('typed');
    await page.waitForFunction(() => {
      const scroller = document.querySelector('.scroll');
      return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 4; // Firefox rounds
    });
    assert.equal(await page.evaluate(() => document.querySelector('.messages').textContent.includes('Question 0')), true);
    await page.waitForFunction(() => document.querySelector('.far') === null);
    await page.waitForFunction(() => document.querySelectorAll('math').length === 500);
    await page.locator('.scroll').evaluate((element) => element.scrollTo({ top: 0 }));
    await page.getByText('Question 0', { exact: true }).waitFor();
    assert.deepEqual(problems, []);
  });

  test('messages that did not change are left alone while an answer streams', async (t) => {
    const { page } = await open(t);
    await ask(page, 'hash table');
    await ask(page, 'code');
    await page.evaluate(() => {
      window.nChanges = 0;
      const observer = new MutationObserver((records) => { window.nChanges += records.length; });
      for (const turn of [...document.querySelectorAll('.turn')].slice(0, 3)) observer.observe(turn.querySelector('.markdown, .bubble'), { subtree: true, childList: true, characterData: true });
    });
    await ask(page, 'tasks');
    assert.equal(await page.evaluate(() => window.nChanges), 0);
  });

  test('thoughts are rendered when they are opened', async (t) => {
    const { page } = await open(t);
    const last = await ask(page, 'think');
    assert.equal(await last.locator('.reasoning .markdown').count(), 0);
    await last.locator('summary').click();
    await last.locator('.reasoning .markdown').getByText('First I consider the question.').waitFor();
  });

  test('all of a chat of 500 messages is printed, and nothing else', async (t) => {
    const { page } = await open(t);
    await openChat(page, longChat(500));
    const pages = await textOfPdf(await page.pdf());
    assert.ok(pages.length > 20, `${pages.length} pages`);
    const text = pages.join(' ').replace(/\s+/g, ' ');
    for (let idx = 0; idx < 500; idx += 1) assert.ok(text.includes(idx % 2 === 0 ? `Question ${idx}` : `Answer ${idx}:`), `message ${idx} is missing`);
    assert.ok(!text.includes('New chat'), 'the sidebar is printed');
  });

  test('folded thoughts stay folded on paper, and code wraps', async (t) => {
    const { page } = await open(t);
    await ask(page, 'think');
    await ask(page, 'wide');
    const text = (await textOfPdf(await page.pdf())).join('');
    assert.ok(!text.includes('First I consider'));
    assert.match(text.replace(/\s/g, ''), /y{400}/);
  });

  test('a long line of code scrolls, and wraps on request, from then on', async (t) => {
    const { page } = await open(t);
    const last = await ask(page, 'wide');
    const isWide = () => last.locator('pre').evaluate((pre) => pre.scrollWidth > pre.clientWidth);
    assert.ok(await isWide());
    await last.getByRole('button', { name: 'Wrap long lines' }).click();
    await eventually(async () => !(await isWide()), 'the line does not wrap');
    await page.reload();
    await last.getByRole('button', { name: 'Wrap long lines', pressed: true }).waitFor();
    assert.ok(!(await isWide()));
    await last.getByRole('button', { name: 'Wrap long lines' }).click();
    await eventually(isWide, 'the line still wraps');
  });

  test('short cells of a table are not broken, long ones are, and the rest scrolls', async (t) => {
    const { page } = await open(t, { viewport: { width: 390, height: 700 } });
    const cell = 'Skewed keys are no problem here, since each of them has a bucket of its own in the table.';
    const last = await answer(t, page, `| Structure | Lookup | Notes | More |\n|---|---|---|---|\n| Van Emde Boas tree | O(log log n) | ${cell} | ${cell} |`);
    const lines = await last.locator('td').evaluateAll((cells) => cells.map((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    }));
    assert.deepEqual(lines.slice(0, 2), [1, 1]);
    assert.ok(lines[2] > 2);
    assert.ok(await last.locator('.table').evaluate((table) => table.scrollWidth > table.clientWidth));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  });

  test('roots cover what is below them, and integrals are large', async (t) => {
    const { page } = await open(t);
    const last = await answer(t, page, '$$\\sqrt{\\frac{a}{\\frac{b}{c}}} + \\int_0^1 x\\,dx$$');
    await last.locator('msqrt').waitFor();
    const [root, inside, operator, letter] = await last.locator('math').evaluate((math) =>
      ['msqrt', 'msqrt > mfrac, msqrt > mrow', 'mo.tml-prime, mo', 'mi'].map((name) => math.querySelector(name).getBoundingClientRect().height));
    assert.ok(root >= inside, `${root} px over ${inside} px`);
    assert.ok(operator > 0 && letter > 0);
    const integral = await last.locator('mo', { hasText: '∫' }).evaluate((mo) => mo.getBoundingClientRect().height / parseFloat(getComputedStyle(mo).fontSize));
    assert.ok(integral > 1.5, `${integral} em`);
  });

  test('unseen characters are spelled out wherever they are shown or copied', async (t) => {
    const { page } = await open(t, { permissions: ['clipboard-read', 'clipboard-write'] });
    const mark = '\u202e\u200b\x1b\u{e0061}';
    const last = await answer(t, page, `A ${mark} [link ${mark}](https://a.example/${mark}) ![alt ${mark}](https://b.example/)\n\n| c${mark} |\n|---|\n| \`d${mark}\` |\n\n\`\`\`e${mark}\nf${mark}\n\`\`\`\n\n- g\n  \`\`\`\n  h${mark}\n  \`\`\`\n\n$i${mark}$ <kbd>${mark}</kbd>`);
    const everything = await last.evaluate((element) => [element.textContent, ...[...element.querySelectorAll('*')].flatMap((each) => [...each.attributes].map(({ value }) => value))].join('\n'));
    assert.doesNotMatch(everything, /[\u202e\x1b]/);
    const code = await last.locator('pre, :not(pre) > code').allTextContents();
    for (const text of code) assert.doesNotMatch(text, /[\u200b\u{e0061}]/u);
    const copied = async (button) => {
      await button.click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      const text = await page.evaluate(() => navigator.clipboard.readText());
      await page.getByRole('button', { name: 'Copied' }).waitFor({ state: 'detached' });
      return text;
    };
    assert.equal(await copied(last.getByRole('button', { name: 'Copy code' }).first()), 'f\\u{202e}\\u{200b}\\u{1b}\\u{e0061}');
    const message = await copied(last.getByRole('button', { name: 'Copy message' }));
    assert.doesNotMatch(message, /[\u202e\x1b]/);
    assert.match(message, /f\\u\{202e\}\\u\{200b\}\\u\{1b\}\\u\{e0061\}/);
  });

  test('the speed of a few tokens is not shown', async (t) => {
    const { page } = await open(t);
    const long = await ask(page, 'burst');
    await long.getByText('tokens/s').waitFor();
    const short = await ask(page, 'few tokens');
    await short.getByText('to first token').waitFor();
    assert.equal(await short.getByText('tokens/s').count(), 0);
  });
}

describe('Chromium', () => tests(launch, Object.keys(kHostile)));
describe('Firefox', { skip: !hasFirefox }, () => tests(launchFirefox, ['a word before an @', 'paragraphs']));
