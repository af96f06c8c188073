// Highlighting, only for code that names its language: guessing is slow and often wrong.
import { Part } from './part.ts';

const kMaxChars = 30_000; // beyond, highlighting while the text streams takes too long

export const highlighter = new Part(() => import('./parts/highlighter.ts'));

// HTML of highlighted code; undefined where it stays plain, and until the highlighter has been loaded.
export function highlight(code: string, language: string): string | undefined {
  if (!language || code.length > kMaxChars) return undefined;
  const part = highlighter.get();
  return part?.knows(language) ? part.highlighted(code, language) : undefined;
}
