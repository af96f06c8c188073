// Bundles src/ into one file: build.mjs [FILE], page/index.html where none is named. Its Content-Security-Policy names the
// hashes of the one script and the one style sheet in it, so nothing else runs.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const kMaxGzipBytes = 150_000;

const folder = fileURLToPath(new URL('.', import.meta.url));
const out = resolve(process.argv[2] ?? join(folder, 'page/index.html'));

async function bundle(entry, options = {}) {
  const result = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    ...options,
  });
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

const parts = { csp: policy(js, css), css, js };
const template = await readFile(join(folder, 'src/page.html'), 'utf8');
const page = template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
const gzipBytes = gzipSync(page, { level: 9 }).length;
await mkdir(dirname(out), { recursive: true });
await writeFile(out, page);
console.log(`${out}: ${page.length} characters, ${gzipBytes} bytes gzipped`);
if (gzipBytes >= kMaxGzipBytes) throw new Error(`The page has ${gzipBytes} bytes gzipped; ${kMaxGzipBytes} is too many.`);
