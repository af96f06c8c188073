// Markdown to HTML, piece by piece: while an answer streams only its last pieces change.
import { Marked } from 'marked';
import { escape } from './escape.ts';
import { formula, kMathExtensions, openFormula } from './math.ts';
import type { Piece } from './pieces.ts';

// The tags that models write in Markdown and that mean no more than text does. Anything else is shown as it was written.
const kInlineTag = /^<\/?(?:br|sub|sup|kbd|mark|b|i|u|s)\s*\/?>$/i;

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: kMathExtensions,
  renderer: {
    html({ text }) {
      return text.replace(/<[^>]*>?|[^<]+/g, (piece) => (kInlineTag.test(piece) ? piece : escape(piece)));
    },
    code({ text, lang }) {
      const language = languageOf(lang ?? '');
      if (language === 'math') return displayHtml(text);
      return `<pre><code class="language-${escape(language)}">${escape(text)}\n</code></pre>`;
    },
    image({ href, text }) {
      return `<a href="${escape(href)}">${escape(text || href)}</a>`;
    },
  },
});

// The language of code, from what stands behind its fence.
export function languageOf(info: string): string {
  return /^[\w+#.-]{1,40}/.exec(info)?.[0].toLowerCase() ?? '';
}

export function displayHtml(tex: string): string {
  return `<p>${formula(tex, true)}</p>`;
}

const cache = new Map<string, string | undefined>();
const kMaxCached = 2_000;

// Not yet sanitised; undefined where the text cannot be read as Markdown (nested too deep). `definitions` are the lines
// that define links, by label.
export function htmlOf({ text }: Piece, definitions: ReadonlyMap<string, string>): string | undefined {
  const source = text + definitionsFor(text, definitions);
  if (cache.has(source)) return cache.get(source);
  if (cache.size >= kMaxCached) cache.clear();
  const html = parsed(source);
  cache.set(source, html);
  return html;
}

function parsed(source: string): string | undefined {
  try {
    return marked.parser(marked.lexer(source));
  } catch {
    return undefined;
  }
}

function definitionsFor(text: string, definitions: ReadonlyMap<string, string>): string {
  if (definitions.size === 0 || !text.includes('[')) return '';
  const lower = text.toLowerCase();
  const used = [...definitions].filter(([label]) => lower.includes(`[${label}]`)).map(([, line]) => line);
  return used.length > 0 ? `\n\n${used.join('\n')}` : '';
}

// Holds back an end that would for a moment be read as something else: "-" below a line of text makes that line a
// heading until the list item follows, the first line of a table is a paragraph until the second is there, and a formula
// is its source until its end has come.
export function settled(text: string): string {
  text = text.slice(0, openFormula(text));
  const lineStart = text.lastIndexOf('\n') + 1;
  const line = text.slice(lineStart);
  if (/^\s*(?:[-=*+#>_]+|\d{1,9}[.)]?)\s*$/.test(line)) return text.slice(0, lineStart);
  const table = /(?:^|\n)\|[^\n]*(?:\n[|:\- ]*)?$/.exec(text);
  const rowAbove = table && /\|[^\n]*$/.test(text.slice(0, table.index));
  return table && !rowAbove ? text.slice(0, table.index) : text;
}
