// Text as it was written. A long one is cut, at lines or words where there are some, so that what is out of view costs
// nothing.
import { useMemo } from 'preact/hooks';
import { chunksOf } from '../chunks.ts';
import { printableProse } from '../printable.ts';

export function Plain({ text }: { text: string }) {
  const chunks = useMemo(() => chunksOf(printableProse(text)), [text]);
  if (chunks.length === 1) return <p class="plain">{chunks[0]}</p>;
  return <p class="plain">{chunks.map((chunk, idx) => <span key={idx} class="chunk">{chunk}</span>)}</p>;
}
