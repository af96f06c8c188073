import { useRef } from 'preact/hooks';
import { getState, setKey, setState, useStore } from '../store.ts';
import { Dialog } from './Dialog.tsx';
import { useTyped } from './typed.ts';

export function KeyDialog() {
  const input = useRef<HTMLInputElement>(null);
  const isWrong = useStore((state) => state.askKey === 'wrong');
  const typed = useTyped(getState().key);
  const close = () => setState({ askKey: false });
  return (
    <Dialog title="API key" submitLabel="Use key" onSubmit={() => setKey(input.current!.value.trim())} onClose={close}>
      <p class="muted">This server asks for a key. It is kept in this browser and sent to this server only.</p>
      <input ref={input} type="password" aria-label="API key" aria-invalid={isWrong} aria-describedby="key-problem" autocomplete="off" required {...typed} />
      <p id="key-problem" class="problem" role="alert">{isWrong && 'The server does not accept this API key.'}</p>
    </Dialog>
  );
}
