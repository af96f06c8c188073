// Highlighting, only for code that names its language: guessing is slow and often wrong.
import { h, type ComponentChild } from 'preact';
import { Part } from './part.ts';
import { printable } from './printable.ts';

// Beyond, highlighting takes too long while the text streams. A highlighter's patterns take the square of a long word.
const kMaxChars = 20_000;
const kLongWord = /[\w.$-]{200}/;

export const highlighter = new Part(() => import('./parts/highlighter.ts'));

type Highlighter = NonNullable<ReturnType<typeof highlighter.get>>;

// Highlighted code; undefined where it stays plain.
export function highlight(part: Highlighter | undefined, code: string, language: string): ComponentChild[] | undefined {
  if (!part?.knows(language) || code.length > kMaxChars || kLongWord.test(code)) return undefined;
  return toNodes(part.highlighted(code, language));
}

const kEntities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" };

// The highlighter's HTML is spans and text. It becomes nodes without ever being HTML of the page, and with no other
// classes than the highlighter's.
function toNodes(html: string): ComponentChild[] {
  const open: { name: string; children: ComponentChild[] }[] = [{ name: '', children: [] }];
  for (const [piece, name] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (name !== undefined) {
      open.push({ name, children: [] });
    } else if (piece === '</span>') {
      const { name, children } = open.pop()!;
      open.at(-1)!.children.push(h('span', { class: ownClasses(name) }, children));
    } else {
      open.at(-1)!.children.push(printable(piece.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => kEntities[entity]!)));
    }
  }
  return open[0]!.children;
}

function ownClasses(names: string): string {
  return names.split(' ').filter((name) => /^(?:hljs-[\w-]+|[a-z]+_)$/.test(name)).join(' ');
}
