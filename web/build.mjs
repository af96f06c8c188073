// Bundles src/: build.mjs [FOLDER] writes there, into page/ by default. index.html is all that a browser needs at first;
// what few conversations need is a part, a file of its own that is loaded when it is needed. The page's
// Content-Security-Policy names the hashes of its one script and its one style sheet, so that nothing else runs but its
// own parts. Licences of the packages go with every copy, as they ask for: at the end of index.html, at the
// beginning of a part, and all of them in licenses.txt.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const kMaxGzipBytes = 150_000; // of index.html

const folder = fileURLToPath(new URL('.', import.meta.url));
const out = resolve(process.argv[2] ?? join(folder, 'page'));

// Returns the text, and the names of the packages that it is made of.
async function bundle(entry, options = {}) {
  const result = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    charset: 'utf8',
    legalComments: 'none',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    logLevel: 'error',
    ...options,
  });
  const inputs = Object.keys(result.metafile.inputs);
  const packages = inputs.flatMap((input) => /^(?:\w+:)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []);
  return { text: result.outputFiles[0].text.trim(), packages: [...new Set(packages)].sort() };
}

// Temml's small edition, without chemistry and physics, is a script with one global and no module.
const temml = {
  name: 'temml',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^temml$/ }, () => ({ path: join(folder, 'node_modules/temml/dist/temml.min.js') }));
    onLoad({ filter: /temml\.min\.js$/ }, async ({ path }) => ({ contents: `${await readFile(path, 'utf8')}\nexport default temml;` }));
  },
};

// A part that the page imports is a file beside it. Its address names its content, so that no cache has an older one.
const parts = new Map(); // text by file name
const partAddress = {
  name: 'part address',
  setup({ onResolve }) {
    onResolve({ filter: /\/(?:parts|languages)\/\w+\.ts$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path: addressOf(`${basename(path, '.ts')}.js`), external: true } : undefined);
  },
};

function addressOf(name) {
  return `./page/${name}?v=${createHash('sha256').update(parts.get(name)).digest('hex').slice(0, 12)}`;
}

// A package that offers several licences is taken under the one in its file LICENSE.
async function licenseOf(name) {
  const at = join(folder, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(at, 'package.json'), 'utf8'));
  const file = (await readdir(at)).find((entry) => /^licen[cs]e(\.md|\.txt)?$/i.test(entry));
  if (!file) throw new Error(`${name} has no file with its licence.`);
  const text = (await readFile(join(at, file), 'utf8')).replaceAll('\r\n', '\n').trim();
  return `${name} ${version}: ${license}\n\n${text}\n`;
}

const joined = (licenses) => licenses.join(`\n${'-'.repeat(80)}\n\n`);

async function licensesOf(packages) {
  return joined(await Promise.all(packages.map(licenseOf)));
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function policy(js, css) {
  return [
    "default-src 'none'",
    "connect-src 'self'",
    'img-src data:',
    "manifest-src 'self'",
    `script-src ${hash(js)} 'self'`,
    "worker-src 'self'",
    `style-src ${hash(css)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types dompurify realizar',
  ].join('; ');
}

// "<!--" and "<script" in a string or pattern would change how HTML reads the script (WHATWG HTML, section 4.12.1.3).
const safe = (script) => script.replace(/<(?=!--|\/?script)/gi, '\\x3C');

const kPartFolders = ['src/parts', 'src/languages'];
const kEnglish = 'en.ts'; // in the page itself
const packages = new Set();
for (const partFolder of kPartFolders) {
  const entries = (await readdir(join(folder, partFolder))).filter((name) => /^\w+\.ts$/.test(name) && name !== kEnglish).sort();
  for (const entry of entries) {
    const part = await bundle(join(partFolder, entry), { format: 'esm', plugins: [temml] });
    const licenses = part.packages.length > 0 ? `/*!\n${(await licensesOf(part.packages)).replaceAll('*/', '* /')}*/\n` : '';
    parts.set(`${basename(entry, '.ts')}.js`, `${licenses}${part.text}\n`);
    for (const name of part.packages) packages.add(name);
  }
}

const js = await bundle('src/main.tsx', {
  format: 'esm', jsx: 'automatic', jsxImportSource: 'preact', plugins: [partAddress],
  define: { PDF_WORKER_ADDRESS: JSON.stringify(addressOf('pdf_worker.js')) },
});
js.text = safe(js.text);
for (const name of js.packages) packages.add(name);
const css = (await bundle('src/style.css')).text;
if (/<\/style/i.test(css)) throw new Error('The style sheet would end its own element.');
const licenses = await licensesOf(js.packages);
if (/--!?>/.test(licenses)) throw new Error('A licence would end the comment that holds it.');

const pieces = { csp: policy(js.text, css), css, js: js.text, licenses };
const template = await readFile(join(folder, 'src/page.html'), 'utf8');
const page = template.replace(/\{\{(\w+)\}\}/g, (_, name) => pieces[name]);
await mkdir(out, { recursive: true });
for (const name of await readdir(out)) if (name.endsWith('.js')) await rm(join(out, name));
const gzipBytes = (text) => gzipSync(text, { level: 9 }).length;
for (const [name, text] of [['index.html', page], ...parts]) {
  await writeFile(join(out, name), text);
  console.log(`${join(out, name)}: ${text.length} characters, ${gzipBytes(text)} bytes gzipped`);
}
await writeFile(join(out, 'licenses.txt'), `The chat page contains these packages.\n\n${await licensesOf([...packages].sort())}`);
if (gzipBytes(page) >= kMaxGzipBytes) throw new Error(`The page has ${gzipBytes(page)} bytes gzipped; ${kMaxGzipBytes} is too many.`);
