import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { chunksOf } from '../chunks.ts';
import { highlight, highlighter } from '../highlight.ts';
import { printable } from '../printable.ts';
import { useWrap } from '../wrap.ts';
import { words } from '../words.ts';
import { CopyButton } from './CopyButton.tsx';
import { IconButton } from './Icon.tsx';

// Unseen characters are spelled out, on screen and in copies, since code may be run.
export function CodeBlock({ language, text }: { language: string; text: string }) {
  const part = highlighter.use(language !== '');
  const [wraps, setWraps] = useWrap();
  const { ref, isWide } = useWidth(text, wraps);
  const highlighted = useMemo(() => highlight(part, text, language), [part, text, language]);
  const shown = useMemo(() => printable(text), [text]);
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        {(isWide || wraps) && <IconButton icon="wrap" label={words.answers.wrapLines} pressed={wraps} onClick={() => setWraps(!wraps)} />}
        <CopyButton label={words.answers.copyCode} text={shown.replace(/\n$/, '')} />
      </figcaption>
      <pre ref={ref} tabIndex={0} class={`${wraps ? 'wraps' : ''} ${isWide ? 'wide' : ''}`}>
        <code>{highlighted ?? <Lines text={shown} />}</code>
      </pre>
    </figure>
  );
}

function Lines({ text }: { text: string }) {
  const chunks = useMemo(() => chunksOf(text), [text]);
  return <>{chunks.length === 1 ? text : chunks.map((chunk, idx) => <span key={idx} class="chunk">{chunk}</span>)}</>;
}

// Whether lines are longer than the block is wide.
function useWidth(text: string, wraps: boolean) {
  const ref = useRef<HTMLPreElement>(null);
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const element = ref.current!;
    const measure = () => setWide(element.scrollWidth > element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(element.firstElementChild!);
    return () => observer.disconnect();
  }, [text === '', wraps]);
  return { ref, isWide };
}
