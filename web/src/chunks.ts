// A long text in parts, each of which is laid out by itself.
const kMaxChars = 4_000;

// Cut after a line if there is one, else after a word, else anywhere.
export function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length || at === 0; ) {
    const end = endOf(text, at);
    chunks.push(text.slice(at, end));
    at = end;
    if (text.length === 0) break;
  }
  return chunks;
}

function endOf(text: string, begin: number): number {
  const limit = begin + kMaxChars;
  if (limit >= text.length) return text.length;
  for (const separator of ['\n', ' ']) {
    const last = text.lastIndexOf(separator, limit - 1);
    if (last > begin) return last + 1;
  }
  return /[\uD800-\uDBFF]/.test(text[limit - 1]!) ? limit - 1 : limit; // not within a pair
}
