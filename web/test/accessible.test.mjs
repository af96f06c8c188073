// axe finds nothing, in any view and look.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ask, send, showView } from './browser.mjs';
import { kLibrary, ScriptedModels } from './scripted_models.mjs';
import { scriptedPages } from './scripted_page.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const shared = scriptedPages();
const { open } = shared;

const kLooks = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
  'smallest, dark': { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true, colorScheme: 'dark' },
  'wide, dark': { viewport: { width: 1920, height: 1080 }, colorScheme: 'dark' },
};

async function check(page, view) {
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ').slice(0, 300)}`);
  });
  assert.deepEqual(found, [], view);
}

for (const [look, options] of Object.entries(kLooks)) {
  test(`axe finds nothing (${look})`, async (t) => {
    // The page's policy would not let a test's script in.
    const { page } = await open(t, { ...options, bypassCSP: true, reducedMotion: 'reduce' });
    await page.evaluate(axe);
    await check(page, 'welcome');
    for (const question of ['table', 'think, and show me code', 'tasks', 'math', 'wide', 'http error']) await ask(page, question);
    await check(page, 'chat');
    await page.getByRole('button', { name: 'This chat' }).click();
    await check(page, 'menu');
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await check(page, 'rename');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByLabel('Temperature').fill('-3');
    await page.getByLabel('Temperature').press('Tab');
    await page.getByLabel('Form of the answers').selectOption('A JSON Schema');
    await check(page, 'settings');
    await page.getByRole('button', { name: 'Set key' }).click();
    await check(page, 'key');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Close settings' }).click();
    await page.locator('.composer input[type=file]').setInputFiles({ name: 'large.txt', mimeType: 'text/plain', buffer: Buffer.from('word '.repeat(10_000)) });
    await page.locator('.composer .length.problem').waitFor();
    await check(page, 'composer');
    await page.locator('.scroll').focus();
    await page.keyboard.press('?');
    await check(page, 'shortcuts');
    await page.keyboard.press('Escape');
    await showView(page, 'Metrics');
    await page.locator('.plot path').first().waitFor();
    await check(page, 'metrics');
  });

  test(`axe finds nothing in tools and their calls (${look})`, async (t) => {
    const { page } = await shared.openOwn(t, { mcp: true }, { ...options, bypassCSP: true, reducedMotion: 'reduce' });
    await page.evaluate(axe);
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByRole('checkbox', { name: 'read', exact: true }).check();
    await check(page, 'tools');
    await page.getByRole('button', { name: 'Close settings' }).click();
    await send(page, 'tool');
    await page.getByRole('button', { name: 'Allow once' }).waitFor();
    await check(page, 'question');
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('The tool said').waitFor();
    await page.locator('.call summary').click();
    await check(page, 'result');
  });
}

for (const width of [320, 1280, 1920]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`axe finds nothing in the view of models (${width} pixels, ${colorScheme})`, async (t) => {
      const coming = { id: 'hf:maker/coming', state: 'downloading', loaded: false, status: { value: 'downloading', progress: {}, done_bytes: 2e9, total_bytes: 5e9 } };
      const failed = { id: 'broken', state: 'failed', loaded: false, error: 'The file is damaged.' };
      const library = new ScriptedModels({ models: [...kLibrary, coming, failed], rights: { may_load: true, may_download: true, lacks: 'manage_models' } });
      const { page } = await shared.openOwn(t, { library }, { viewport: { width, height: 800 }, colorScheme, bypassCSP: true, reducedMotion: 'reduce' });
      await page.evaluate(axe);
      await showView(page, 'Models');
      await page.getByRole('table').waitFor();
      await check(page, 'models');
      await page.getByRole('searchbox', { name: 'Search models' }).fill('qwen3');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Sizes of qwen3:8b' }).click();
      await page.locator('.choices').waitFor();
      await check(page, 'choices');
      await page.getByRole('button', { name: 'Delete nomic-embed-text' }).click();
      await check(page, 'question');
    });
  }
}
