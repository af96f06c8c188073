import { useEffect, useRef } from 'preact/hooks';
import { getState, setKey, setState } from '../store.ts';

export function KeyDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    setKey(input.current!.value.trim());
  };
  return (
    <dialog ref={dialog} aria-labelledby="key-title" onClose={() => setState({ askKey: false })}>
      <form onSubmit={submit}>
        <h2 id="key-title">API key</h2>
        <p class="muted">This server wants a key. It is kept in this browser and sent to this server only.</p>
        <input ref={input} type="password" aria-label="API key" autocomplete="off" required value={getState().key} />
        <div class="buttons">
          <button type="button" onClick={() => dialog.current!.close()}>Cancel</button>
          <button type="submit" class="primary">Use key</button>
        </div>
      </form>
    </dialog>
  );
}
