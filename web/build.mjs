// Bundles src/ into one file: build.mjs [FOLDER] writes index.html there, into page/ where none is named. Its
// Content-Security-Policy names the hashes of the one script and the one style sheet in it, so nothing else runs. The
// licences of the packages in it go with every copy, as they ask for: at its end, and beside it in licenses.txt.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const kMaxGzipBytes = 150_000;

const folder = fileURLToPath(new URL('.', import.meta.url));
const out = resolve(process.argv[2] ?? join(folder, 'page'));
const packages = new Set();  // what the bundle is made of, beside src/

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
    ...options,
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const name = /^(?:\w+:)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
    if (name) packages.add(name);
  }
  return result.outputFiles[0].text.trim();
}

// Temml's small edition, without chemistry and physics, is a script with one global and no module.
const temml = {
  name: 'temml',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^temml$/ }, () => ({ path: join(folder, 'node_modules/temml/dist/temml.min.js') }));
    onLoad({ filter: /temml\.min\.js$/ }, async ({ path }) => ({ contents: `${await readFile(path, 'utf8')}\nexport default temml;` }));
  },
};

// Of a package that may be had under one of several licences, LICENSE is the one that is taken.
async function licenseOf(name) {
  const at = join(folder, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(at, 'package.json'), 'utf8'));
  const file = (await readdir(at)).find((entry) => /^licen[cs]e(\.md|\.txt)?$/i.test(entry));
  if (!file) throw new Error(`${name} has no file with its licence.`);
  const text = (await readFile(join(at, file), 'utf8')).replaceAll('\r\n', '\n').trim();
  return `${name} ${version}: ${license}\n\n${text}\n`;
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function policy(js, css) {
  return [
    "default-src 'none'",
    "connect-src 'self'",
    'img-src data:',
    "manifest-src 'self'",
    `script-src ${hash(js)}`,
    `style-src ${hash(css)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types dompurify',
  ].join('; ');
}

// "<!--" and "<script" in a string or pattern would change how HTML reads the script (WHATWG HTML, section 4.12.1.3).
const safe = (script) => script.replace(/<(?=!--|\/?script)/gi, '\\x3C');

const js = safe(await bundle('src/main.tsx', { format: 'esm', jsx: 'automatic', jsxImportSource: 'preact', plugins: [temml] }));
const css = await bundle('src/style.css');
if (/<\/style/i.test(css)) throw new Error('The style sheet would end its own element.');

const texts = await Promise.all([...packages].sort().map(licenseOf));
const licenses = `The chat page contains these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
if (/--!?>/.test(licenses)) throw new Error('A licence would end the comment that holds it.');

const parts = { csp: policy(js, css), css, js, licenses };
const template = await readFile(join(folder, 'src/page.html'), 'utf8');
const page = template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
const gzipBytes = gzipSync(page, { level: 9 }).length;
await mkdir(out, { recursive: true });
await writeFile(join(out, 'index.html'), page);
await writeFile(join(out, 'licenses.txt'), licenses);
console.log(`${join(out, 'index.html')}: ${page.length} characters, ${gzipBytes} bytes gzipped`);
if (gzipBytes >= kMaxGzipBytes) throw new Error(`The page has ${gzipBytes} bytes gzipped; ${kMaxGzipBytes} is too many.`);
