import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { enterSends, fit } from './textarea.ts';

// `done` gets the new text, or null when the edit was given up.
export function TurnEditor({ text, done }: { text: string; done: (text: string | null) => void }) {
  const [draft, setDraft] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    area.current!.focus();
    area.current!.setSelectionRange(text.length, text.length);
  }, []);
  useLayoutEffect(() => fit(area.current!), [draft]);
  const send = () => draft.trim() && done(draft.trim());
  const onKeyDown = (event: KeyboardEvent) => {
    if (enterSends(event)) send();
    else if (event.key === 'Escape') done(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class="turn editor">
      <textarea ref={area} aria-label="Edit message" value={draft} onInput={(event) => setDraft(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="buttons">
        <button type="button" onClick={() => done(null)}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={send} disabled={!draft.trim()}>
          Send
        </button>
      </div>
    </div>
  );
}
