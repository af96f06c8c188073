import { useState } from 'preact/hooks';
import { stop } from '../chat.ts';
import type { Conversation } from '../conversation.ts';
import { download } from '../download.ts';
import { removeConversation, useStore } from '../store.ts';
import { toJson, toMarkdown } from '../transfer.ts';
import { words } from '../words.ts';
import { Icon } from './Icon.tsx';
import { Menu, type MenuItem } from './Menu.tsx';
import { RenameDialog } from './RenameDialog.tsx';

export function ChatMenu() {
  const active = useStore((state) => state.conversations.find((each) => each.id === state.activeId));
  const [renaming, setRenaming] = useState(false);
  if (!active) return null;
  return (
    <>
      <Menu label={words.chatMenu.label} class="icon-button" items={chatActions(active, () => setRenaming(true))}>
        <Icon name="more" />
      </Menu>
      {renaming && <RenameDialog active={active} close={() => setRenaming(false)} />}
    </>
  );
}

// Actions on a chat, in its row and in the header.
export function chatActions(active: Conversation, rename: () => void): MenuItem[] {
  return [
    { label: words.chatMenu.rename, run: rename },
    { label: words.chatMenu.exportMarkdown, run: () => download(`${fileName(active)}.md`, 'text/markdown', toMarkdown(active)) },
    { label: words.chatMenu.exportJson, run: () => download(`${fileName(active)}.json`, 'application/json', toJson([active])) },
    { label: words.chatMenu.delete, run: () => remove(active) },
  ];
}

function remove(active: Conversation): void {
  stop(active.id);
  removeConversation(active);
}

const fileName = (active: Conversation) => active.title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || words.chatMenu.fileName;
