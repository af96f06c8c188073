import { useEffect, useRef } from 'preact/hooks';
import { stop } from '../chat.ts';
import type { Conversation } from '../conversation.ts';
import { download } from '../download.ts';
import { putConversation, removeConversation, useStore } from '../store.ts';
import { toJson, toMarkdown } from '../transfer.ts';
import { Icon } from './Icon.tsx';

export function ChatMenu() {
  const active = useStore((state) => state.conversations.find((each) => each.id === state.activeId));
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (!menu.current?.contains(event.target as Node)) menu.current?.removeAttribute('open');
    };
    document.addEventListener('click', close);
    return () => document.removeEventListener('click', close);
  }, []);
  if (!active) return null;
  const choose = (run: (active: Conversation) => void) => () => {
    menu.current?.removeAttribute('open');
    run(active);
  };
  return (
    <details class="menu" ref={menu}>
      <summary class="icon-button" aria-label="This chat" title="This chat">
        <Icon name="more" />
      </summary>
      <div class="popup">
        <button type="button" onClick={choose(rename)}>Rename</button>
        <button type="button" onClick={choose(exportMarkdown)}>Export as Markdown</button>
        <button type="button" onClick={choose(exportJson)}>Export as JSON</button>
        <button type="button" onClick={choose(remove)}>Delete</button>
      </div>
    </details>
  );
}

function rename(active: Conversation): void {
  const title = prompt('Title of this chat', active.title)?.trim();
  if (title) putConversation({ ...active, title });
}

export function remove(active: Conversation): void {
  stop(active.id);
  removeConversation(active);
}

const fileName = (active: Conversation) => active.title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'chat';
const exportMarkdown = (active: Conversation) => download(`${fileName(active)}.md`, 'text/markdown', toMarkdown(active));
const exportJson = (active: Conversation) => download(`${fileName(active)}.json`, 'application/json', toJson([active]));
