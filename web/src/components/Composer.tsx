import { useEffect, useRef, useState } from 'preact/hooks';
import { send, stop } from '../chat.ts';
import { useStore } from '../store.ts';
import { Icon } from './Icon.tsx';
import { enterSends, fit } from './textarea.ts';

const kHasKeyboard = '(hover: hover) and (pointer: fine)';

// `fill` puts an example into the box; a new object each time, so that the same example can be chosen twice.
export function Composer({ fill }: { fill: { text: string } | null }) {
  const activeId = useStore((state) => state.activeId);
  const running = useStore((state) => state.running.has(state.activeId ?? ''));
  const [draft, setDraft] = useState('');
  const area = useRef<HTMLTextAreaElement>(null);
  const focus = () => matchMedia(kHasKeyboard).matches && area.current?.focus();

  useEffect(() => void focus(), [activeId]);
  useEffect(() => fit(area.current!), [draft]);
  useEffect(() => {
    if (!fill) return;
    setDraft(fill.text);
    area.current?.focus();
  }, [fill]);

  const submit = () => {
    if (running || !draft.trim()) return;
    send(draft.trim());
    setDraft('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!enterSends(event)) return;
    event.preventDefault();
    submit();
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (running) stop(activeId);
    else submit();
    focus();
  };
  return (
    <form class="composer" onSubmit={onSubmit}>
      <textarea
        ref={area}
        rows={1}
        placeholder="Ask anything"
        aria-label="Message"
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <button type="submit" class="send" aria-label={running ? 'Stop' : 'Send'} title={running ? 'Stop (Esc)' : 'Send (Enter)'} disabled={!running && !draft.trim()}>
        <Icon name={running ? 'stop' : 'send'} />
      </button>
    </form>
  );
}
