import { useEffect, useRef } from 'preact/hooks';
import type { Conversation } from '../conversation.ts';
import { putConversation } from '../store.ts';
import { words } from '../words.ts';
import { Dialog } from './Dialog.tsx';
import { useTyped } from './typed.ts';

export function RenameDialog({ active, close }: { active: Conversation; close: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const typed = useTyped(active.title);
  useEffect(() => input.current!.select(), []);
  const rename = () => {
    const title = input.current!.value.trim();
    if (title) putConversation({ ...active, title });
    close();
  };
  return (
    <Dialog title={words.chatMenu.renameTitle} submitLabel={words.chatMenu.rename} onSubmit={rename} onClose={close}>
      <input ref={input} type="text" aria-label={words.chatMenu.title} required maxLength={200} {...typed} />
    </Dialog>
  );
}
