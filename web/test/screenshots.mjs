// Writes the pictures of docs/images: REALIZAR_BIN=PROGRAM node test/screenshots.mjs FOLDER. Welcome, settings and metrics
// are the program's own, after a minute of requests; the answer with mathematics and code and the view of models come
// from scripts.
import { mkdir } from 'node:fs/promises';
import { ask, launch, showView } from './browser.mjs';
import { serve } from './program.mjs';
import { kLibrary, ScriptedModels } from './scripted_models.mjs';
import { startScriptedServer } from './scripted_server.mjs';

const kLoadMs = Number(process.env.LOAD_MS ?? 60_000);
const kDesktop = { viewport: { width: 1180, height: 760 } };
const kPhone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };
const kLooks = {
  light: { ...kDesktop, colorScheme: 'light' },
  dark: { ...kDesktop, colorScheme: 'dark' },
  phone: { ...kPhone, colorScheme: 'light' },
};

const folder = process.argv[2];
await mkdir(folder, { recursive: true });
const browser = await launch();
const program = await serve('--ctx', '1024');
const scripted = await startScriptedServer();

// Questions one after the other, two at a time, so that there is something to see.
async function load(ms) {
  const end = Date.now() + ms;
  const client = async (idx) => {
    while (Date.now() < end) {
      const messages = [{ role: 'user', content: `Tell me a story with the number ${(idx * 7 + Date.now()) % 97}.` }];
      const response = await fetch(`${program.url}/v1/chat/completions`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ messages, stream: true, max_tokens: 200 }),
      });
      await response.text();
    }
  };
  await Promise.all([0, 1, 2].map(client));
}

async function open(look, url) {
  const context = await browser.newContext(kLooks[look]);
  const page = await context.newPage();
  await page.goto(url);
  await page.getByLabel('Message', { exact: true }).waitFor();
  const shot = async (view) => {
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: `${folder}/page-${view}-${look}.png` });
  };
  return { page, shot, close: () => context.close() };
}

async function shootProgram(look) {
  const { page, shot, close } = await open(look, program.url);
  await page.locator('.examples').waitFor();
  await shot('welcome');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Temperature').waitFor();
  await shot('settings');
  await page.keyboard.press('Escape');
  await showView(page, 'Metrics');
  await page.locator('.plot path').first().waitFor();
  await shot('metrics');
  await close();
}

async function shootAnswer(look) {
  const { page, shot, close } = await open(look, scripted.url);
  await ask(page, 'How does a hash table find its keys?');
  await shot('answer');
  await close();
}

// A library as one may have it, which no machine of tests has.
async function shootModels() {
  const name = 'hf:maker/Qwen3-8B-GGUF:Q4_K_M';
  const status = { value: 'downloading', progress: {}, done_bytes: 2e9, total_bytes: 5.03e9 };
  const library = new ScriptedModels({ models: [...kLibrary, { id: name, state: 'downloading', loaded: false, status }] });
  const server = await startScriptedServer({ library });
  const { page, close } = await open('light', server.url);
  await showView(page, 'Models');
  await page.getByRole('searchbox').fill('qwen3 8b');
  await page.keyboard.press('Enter');
  await page.locator('.hits').waitFor();
  // A rate is known half a second after the first bytes.
  for (let n = 2e9; !/ left/.test(await page.locator('td.coming').innerText()); n += 4e6) {
    library.arrive(name, n, 5.03e9);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await page.locator('main').evaluate((main) => main.scrollTo({ top: 0 }));
  await page.screenshot({ path: `${folder}/models.png` });
  await close();
  await server.close();
}

try {
  await shootModels();
  await load(kLoadMs);
  for (const look of Object.keys(kLooks)) {
    await shootProgram(look);
    await shootAnswer(look);
  }
} finally {
  await scripted.close();
  await program.stop();
  await browser.close();
}
