// The view of models against a scripted server: what it shows, what it asks for, and what it says when that fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, showView } from './browser.mjs';
import { scriptedPages } from './scripted_page.mjs';
import { kLibrary, ScriptedModels } from './scripted_models.mjs';

const shared = scriptedPages();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const row = (page, name) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${name}`) }) });
const kName = 'hf:maker/Qwen3-8B-GGUF:Q4_K_M';

// The view, with a server of its own.
async function openModels(t, options = {}, { key, ...look } = {}) {
  const library = new ScriptedModels(options);
  const { page, problems } = await shared.openOwn(t, { library, key }, look);
  await showView(page, 'Models');
  return { page, problems, library };
}

async function find(page, words) {
  await page.getByRole('searchbox', { name: 'Search models' }).fill(words);
  await page.keyboard.press('Enter');
}

test('shows what each model takes and can do, and what is free', async (t) => {
  const { page, problems } = await openModels(t);
  await row(page, 'qwen3:1.7b').waitFor();
  const cells = async (name) => (await row(page, name).getByRole('cell').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  assert.deepEqual(await cells('qwen3:1.7b'), ['1.8 GB', '8,192', '2.4 GB in use', 'chat tools thinking', 'loaded', 'Chat Unload']);
  assert.deepEqual(await cells('hf:unsloth'), ['17 GB', '131,072', '21 GB needed more than is free', 'chat', 'not loaded', 'Chat Load']);
  assert.deepEqual((await cells('nomic-embed-text')).slice(3), ['embeddings', 'not loaded', 'Load']);
  assert.match(await row(page, 'qwen2.5-coder').innerText(), /qwen2, Q4_K_M, 7\.6B parameters/);
  assert.match(await page.locator('.places').innerText(), /Memory: 11 GB of 17 GB free\s+Disk: 212 GB free/);
  assert.deepEqual(problems, []);
});

for (const [lacks, sentence] of [
  ['manage_models', /--manage-models/],
  ['admin_key', /admin.s key.*--api-key "admin KEY"/],
  ['own_machine', /on the server.s machine/],
]) {
  test(`without the right there are no buttons, and a sentence says what to do (${lacks})`, async (t) => {
    const models = kLibrary.map((model) => ({ ...model, details: { ...model.details, may_delete: false } }));
    const { page } = await openModels(t, { models, rights: { may_load: false, may_download: false, lacks } });
    await row(page, 'qwen3:1.7b').waitFor();
    assert.match(await page.locator('.lacks').innerText(), sentence);
    assert.deepEqual(await page.getByRole('main').getByRole('button').evaluateAll((all) => [...new Set(all.map((each) => each.innerText))]), ['Chat']);
    assert.equal(await page.getByRole('search').count(), 0);
  });
}

test('loads and unloads, and says beside the model why it cannot', async (t) => {
  const { page, library } = await openModels(t);
  const coder = row(page, 'qwen2.5-coder:7b');
  await button(page, 'Load: qwen2.5-coder:7b').click();
  await coder.getByText('loading').waitFor();
  assert.equal(await button(page, 'Load: qwen2.5-coder:7b').getAttribute('aria-disabled'), 'true');
  library.tell({ model: 'qwen2.5-coder:7b', event: 'model_status', data: { status: 'loading', progress: { value: 0.5 } } });
  await page.waitForFunction(() => document.querySelector('.library td progress')?.value === 0.5);
  library.set('qwen2.5-coder:7b', { state: 'ready', loaded: true, weight_bytes: 4.7e9, kv_bytes: 0.9e9 });
  await coder.getByText('5.6 GB in use').waitFor();
  await page.getByRole('status').filter({ hasText: 'qwen2.5-coder:7b is loaded.' }).waitFor({ state: 'attached' });
  await button(page, 'Unload: qwen2.5-coder:7b').click();
  await coder.getByText('not loaded').waitFor();
  assert.ok(await button(page, 'Load: qwen2.5-coder:7b').evaluate((each) => each === document.activeElement), 'the focus is lost');
  library.refusal = [429, "'nomic-embed-text' needs 310 MB, and all loaded models are in use"];
  await button(page, 'Load: nomic-embed-text').click();
  await page.getByRole('alert').getByText("'nomic-embed-text' needs 310 MB").waitFor();
  await button(page, 'Dismiss').click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  library.set('nomic-embed-text', { state: 'failed', error: 'the file is damaged' });
  await page.getByRole('alert').getByText('the file is damaged').waitFor();
});

test('finds a model, shows its sizes, and downloads one with rate and time left', async (t) => {
  const { page, problems, library } = await openModels(t);
  await find(page, ' qwen3 8b ');
  await page.getByText('2 models found').waitFor();
  assert.deepEqual(library.asked.at(-1), ['POST', '/v1/models/search', { query: 'qwen3 8b' }]);
  assert.match(await page.locator('.hits').innerText(), /stands for hf:Qwen\/Qwen3-8B-GGUF:Q4_K_M, 8\.0B parameters, 1,234,567 downloads/);
  await button(page, 'Sizes of hf:maker/Qwen3-8B-GGUF').click();
  const choices = page.getByRole('list', { name: 'Sizes of hf:maker/Qwen3-8B-GGUF' });
  assert.deepEqual((await choices.locator('.name').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')),
    ['Q4_K_M 5.0 GB, usual choice', 'Q8_0 8.7 GB', 'BF16 16 GB, more than is free']);
  await button(page, `Download ${kName}`).click();
  const coming = row(page, kName);
  await coming.getByText('looking for it').waitFor();
  assert.deepEqual(library.asked.at(-1), ['POST', '/v1/models', { model: kName }]);
  // Half a second is the least time of a rate.
  let n = 0;
  await eventually(async () => {
    library.arrive(kName, (n += 1e6), 5.03e9);
    return /of 5\.0 GB, [\d.]+ MB\/s, .+ left/.test(await coming.innerText());
  }, 'no rate');
  assert.equal(await choices.getByRole('progressbar').count(), 1);
  library.end(kName);
  await page.getByRole('status').filter({ hasText: 'was downloaded' }).waitFor({ state: 'attached' });
  await button(page, `Load: ${kName}`).waitFor();
  await choices.getByText('here already').waitFor();
  assert.deepEqual(problems, []);
});

test('a download that is under way is there when the view is opened, can be cancelled, and goes on', async (t) => {
  const status = { value: 'downloading', progress: {}, done_bytes: 2e9, total_bytes: 5e9 };
  const { page, library } = await openModels(t, { models: [...kLibrary, { id: kName, state: 'downloading', loaded: false, status }] });
  await row(page, kName).getByText('2.0 GB of 5.0 GB').waitFor();
  await button(page, `Cancel: ${kName}`).click();
  await page.getByRole('alert').getByText('what has arrived is kept').waitFor();
  assert.deepEqual(library.asked.at(-1), ['POST', '/v1/models/unload', { model: kName }]);
  await button(page, 'Resume').click();
  await row(page, kName).getByText('looking for it').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  library.end(kName, 'the disk of /models is too full: 5.0 GB are wanted, 1.2 GB are free');
  await page.getByRole('alert').getByText('the disk of /models is too full').waitFor();
  await button(page, 'Dismiss').click();
  await row(page, kName).waitFor({ state: 'detached' });
});

test('a name is downloaded as it is, and what is wrong with it is said', async (t) => {
  const { page, library } = await openModels(t, { hits: [], note: 'huggingface.co cannot be reached' });
  await find(page, 'no such model');
  await page.getByText('No model was found.').waitFor();
  await page.getByText('huggingface.co cannot be reached').waitFor();
  await find(page, 'ollama:nothing');
  library.refusal = [400, "model: 'ollama:nothing' is no name"];
  await button(page, 'Download ollama:nothing').click();
  await page.getByRole('alert').getByText('is no name').waitFor();
  assert.deepEqual(library.asked.at(-1), ['POST', '/v1/models', { model: 'ollama:nothing' }]);
  library.refusal = [502, 'the hub cannot be reached'];
  await button(page, 'Sizes of ollama:nothing').click();
  await page.getByRole('alert').getByText('The hub cannot be reached.').waitFor();
  await button(page, 'Retry').click();
  await page.getByRole('list', { name: 'Sizes of ollama:nothing' }).waitFor();
});

test('asks before it deletes', async (t) => {
  const { page, library } = await openModels(t);
  const open = () => button(page, 'Delete nomic-embed-text').click();
  await open();
  await page.getByRole('dialog').getByText('nomic-embed-text, 274 MB, is deleted').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual(library.asked, []);
  await open();
  await button(page, 'Delete').click();
  await row(page, 'nomic-embed-text').waitFor({ state: 'detached' });
  assert.deepEqual(library.asked, [['DELETE', '/v1/models', { model: 'nomic-embed-text' }]]);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'MAIN');
  library.refusal = [400, 'the last model cannot be deleted'];
  await button(page, 'Delete qwen3:1.7b').click();
  await button(page, 'Delete').click();
  await page.getByRole('alert').getByText('The last model cannot be deleted.').waitFor();
});

test('a chat begins with the model that is chosen', async (t) => {
  const { page } = await openModels(t);
  await button(page, 'Chat: qwen2.5-coder:7b').click();
  await page.locator('button.model').getByText('qwen2.5-coder:7b').waitFor();
  await page.getByLabel('Message', { exact: true }).waitFor();
});

test('what a server says is text with every character spelled out', async (t) => {
  const evil = '<img src=x onerror="window.__pwned = 1">\u202e\x1b[31m';
  const models = [{ id: evil, state: evil, loaded: false, error: evil, details: { ...kLibrary[0].details, architecture: evil, quantization: evil, capabilities: [evil] } }];
  const { page, library } = await openModels(t, { models, hits: [{ name: `hf:${evil}`, stands_for: evil }], note: evil, rights: { may_load: true, may_download: true, lacks: '__proto__' } });
  await page.getByRole('table').waitFor();
  await find(page, 'evil');
  await page.locator('.hits').waitFor();
  library.tell({ model: evil, event: 'download_failed', data: { error: evil } });
  await page.getByRole('alert').waitFor();
  const text = await page.getByRole('main').innerText();
  assert.doesNotMatch(text, /[\u202e\x1b]/);
  assert.ok(text.split('<img src=x onerror="window.__pwned = 1">\\u{202e}\\u{1b}[31m').length > 7, text);
  assert.equal(await page.evaluate(() => window.__pwned), undefined);
});

test('a lost connection is told and comes back', async (t) => {
  const { page, library } = await openModels(t);
  await row(page, 'qwen3:1.7b').waitFor();
  await eventually(() => library.listeners.size === 1, 'nobody listens');
  library.drop();
  await page.getByRole('alert').waitFor();
  library.isLost = false;
  library.models = library.models.slice(0, 2);
  await row(page, 'nomic-embed-text').waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('nobody listens once the view is left', async (t) => {
  const { page, library } = await openModels(t);
  await eventually(() => library.listeners.size === 1, 'nobody listens');
  await showView(page, 'Chat');
  await eventually(() => library.listeners.size === 0, 'the view goes on listening');
});

test('the view asks for the key', async (t) => {
  const library = new ScriptedModels();
  const { page } = await shared.openOwn(t, { library, key: 'right' });
  const key = page.locator('input[type=password]');
  await key.waitFor();
  await page.keyboard.press('Escape');
  await showView(page, 'Models');
  await key.fill('right');
  await page.keyboard.press('Enter');
  await row(page, 'qwen3:1.7b').waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

for (const width of [320, 640, 1280, 1920]) {
  test(`nothing is cut off at ${width} pixels`, async (t) => {
    const status = { value: 'downloading', progress: {}, done_bytes: 2e9, total_bytes: 5e9 };
    const { page } = await openModels(t, { models: [...kLibrary, { id: kName, state: 'downloading', loaded: false, status }] }, { viewport: { width, height: 800 } });
    await row(page, kName).waitFor();
    await find(page, 'qwen3');
    await button(page, 'Sizes of hf:maker/Qwen3-8B-GGUF').click();
    await page.getByRole('list', { name: 'Sizes of hf:maker/Qwen3-8B-GGUF' }).waitFor();
    const cut = await page.evaluate(() => {
      const main = document.querySelector('main');
      const edge = main.getBoundingClientRect().right + 1;
      return [...main.querySelectorAll('button, td, th, li, p')].filter((each) => !each.closest('thead, .visually-hidden') && each.getBoundingClientRect().right > edge).map((each) => each.outerHTML.slice(0, 100))
        .concat(main.scrollWidth > main.clientWidth ? ['main scrolls'] : []);
    });
    assert.deepEqual(cut, []);
  });
}
