import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { words } from '../words.ts';

interface Props {
  title: string;
  submitLabel: string;
  onSubmit: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

// A question with one form. Esc and Cancel close it.
export function Dialog({ title, submitLabel, onSubmit, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current!.close()}>{words.common.cancel}</button>
          <button type="submit" class="primary">{submitLabel}</button>
        </div>
      </form>
    </dialog>
  );
}
