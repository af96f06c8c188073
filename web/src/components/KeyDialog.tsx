import { useRef } from 'preact/hooks';
import { getState, setKey, setState, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Dialog } from './Dialog.tsx';
import { useTyped } from './typed.ts';

export function KeyDialog() {
  const input = useRef<HTMLInputElement>(null);
  const isWrong = useStore((state) => state.askKey === 'wrong');
  const typed = useTyped(getState().key);
  const close = () => setState({ askKey: false });
  return (
    <Dialog title={words.settings.key} submitLabel={words.key.use} onSubmit={() => setKey(input.current!.value.trim())} onClose={close}>
      <p class="muted">{words.key.about}</p>
      <input ref={input} type="password" aria-label={words.settings.key} aria-invalid={isWrong} aria-describedby="key-problem" autocomplete="off" required {...typed} />
      <p id="key-problem" class="problem" role="alert">{isWrong && words.key.wrong}</p>
    </Dialog>
  );
}
