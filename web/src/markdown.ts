// Markdown to HTML, block by block: while an answer streams only its last block changes.
import { Marked, type Token } from 'marked';
import { escape } from './escape.ts';
import { highlight, highlighter } from './highlight.ts';
import { formula, kMathExtensions, openFormula } from './math.ts';

export interface Block {
  source: string;
  html: string; // not yet sanitised
}

const kMaxChars = 400_000;

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
      const language = /^[\w+#.-]+/.exec(lang ?? '')?.[0].toLowerCase() ?? '';
      if (language === 'math') return `<p>${formula(text, true)}</p>`;
      const body = highlight(text, language) ?? escape(text);
      return `<pre><code class="language-${escape(language)}">${body}\n</code></pre>`;
    },
    image({ href, text }) {
      return `<a href="${escape(href)}">${escape(text || href)}</a>`;
    },
  },
});

// Text that cannot be read as Markdown (too long, nested too deep) is one plain block.
export function renderBlocks(text: string): Block[] {
  if (text.length > kMaxChars) return [plain(text)];
  try {
    return marked.lexer(text).filter((token) => token.type !== 'space').map(renderBlock);
  } catch {
    return [plain(text)];
  }
}

// Rendered blocks by source. The references of a text ("[1]: http://...") can change a block, so one that may use
// them is not kept; nor is code before its highlighter has been loaded.
const cache = new Map<string, string>();
const kMaxCached = 2_000;

function renderBlock(token: Token): Block {
  const source = token.raw;
  const html = cache.get(source) ?? marked.parser([token]);
  const isFinal = token.type === 'code' ? highlighter.get() !== undefined : !/\[|```|~~~/.test(source);
  if (isFinal) {
    if (cache.size >= kMaxCached) cache.clear();
    cache.set(source, html);
  }
  return { source, html };
}

function plain(text: string): Block {
  return { source: text, html: `<pre><code>${escape(text)}\n</code></pre>` };
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
