// Debian's Chromium and Firefox, and a page that records what it must not do.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chromium, firefox } from 'playwright-core';

const kChromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
const kTimeoutMs = Number(process.env.PAGE_TIMEOUT_MS ?? 300_000); // ends what hangs; nothing else depends on it

// PAGE_BROWSER=firefox runs the tests in Firefox, which cannot emulate phones and colour schemes.
export const isFirefox = process.env.PAGE_BROWSER === 'firefox';
const kFirefox = process.env.FIREFOX ?? '/usr/bin/firefox-esr';

export const launch = () => (isFirefox ? launchFirefox() : chromium.launch({ executablePath: kChromium, args: ['--no-sandbox'] }));

export const hasFirefox = existsSync(kFirefox);

// Debian's Firefox does not know one command that Playwright sends for every context.
export async function launchFirefox() {
  const browser = await firefox.launch({ channel: 'moz-firefox', executablePath: kFirefox });
  const session = Object.getPrototypeOf(browser._connection.toImpl(browser)._browserSession);
  const { send } = session;
  session.send = function (method, params) {
    return method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send.call(this, method, params);
  };
  return browser;
}

// A page in a context of its own. `problems` collects console errors, exceptions, dialogs and requests to elsewhere. Chats
// keep their first titles unless `titles` is set: the model's come when the page has been idle for a while.
export async function openPage(t, browser, url, { titles = false, ...options } = {}) {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true, ...options });
  context.setDefaultTimeout(kTimeoutMs);
  t.after(() => context.close());
  if (!titles) await context.addInitScript(() => location.protocol === 'http:' && localStorage.setItem('realizar.titlesByModel', 'false'));
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('dialog', (dialog) => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  context.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  await page.getByLabel('Message', { exact: true }).waitFor();
  return { page, problems };
}

// A view of the sidebar, which lies over the page where that is narrow.
export async function showView(page, name) {
  const chats = page.getByRole('button', { name: 'Show chats' });
  if (await chats.isVisible()) await chats.click();
  await page.getByRole('link', { name, exact: true }).click();
}

// Types into a field as a person does, and leaves it.
export async function enter(field, text) {
  await field.fill('');
  await field.pressSequentially(text);
  await field.press('Tab');
}

export async function send(page, text) {
  const message = page.getByLabel('Message', { exact: true });
  await message.fill(text);
  await message.press('Enter');
}

export const lastAnswer = (page) => page.locator('.answer').last();

// Waits until no answer is being written, and returns the last one.
export async function answered(page) {
  await page.locator('.answer[aria-busy=false]').last().waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  return lastAnswer(page);
}

export async function ask(page, text) {
  await send(page, text);
  return answered(page);
}

// For what another process sees: the server learns of a click or of a closed connection after the page has shown it.
export async function eventually(condition, what) {
  const deadline = Date.now() + kTimeoutMs;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
