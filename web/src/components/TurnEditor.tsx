import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { words } from '../words.ts';
import { enterSends, fit } from './textarea.ts';

interface Props {
  text: string;
  label: string; // of the button, and of the key Enter
  done: (text: string | null) => void; // null: the edit was given up
  more?: { label: string; run: (text: string) => void };
}

export function TurnEditor({ text, label, done, more }: Props) {
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
      <textarea ref={area} aria-label={words.turns.edit} value={draft} onInput={(event) => setDraft(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="buttons">
        <button type="button" onClick={() => done(null)}>
          {words.common.cancel}
        </button>
        {more && (
          <button type="button" onClick={() => more.run(draft)} disabled={!draft.trim()}>
            {more.label}
          </button>
        )}
        <button type="button" class="primary" onClick={send} disabled={!draft.trim()}>
          {label}
        </button>
      </div>
    </div>
  );
}
