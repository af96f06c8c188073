import { useState } from 'preact/hooks';
import { stop } from '../chat.ts';
import type { Conversation } from '../conversation.ts';
import { download } from '../download.ts';
import { removeConversation, useStore } from '../store.ts';
import { toJson, toMarkdown } from '../transfer.ts';
import { Icon } from './Icon.tsx';
import { Menu } from './Menu.tsx';
import { RenameDialog } from './RenameDialog.tsx';

export function ChatMenu() {
  const active = useStore((state) => state.conversations.find((each) => each.id === state.activeId));
  const [renaming, setRenaming] = useState(false);
  if (!active) return null;
  const items = [
    { label: 'Rename', run: () => setRenaming(true) },
    { label: 'Export as Markdown', run: () => download(`${fileName(active)}.md`, 'text/markdown', toMarkdown(active)) },
    { label: 'Export as JSON', run: () => download(`${fileName(active)}.json`, 'application/json', toJson([active])) },
    { label: 'Delete', run: () => remove(active) },
  ];
  return (
    <>
      <Menu label="This chat" class="icon-button" items={items}>
        <Icon name="more" />
      </Menu>
      {renaming && <RenameDialog active={active} close={() => setRenaming(false)} />}
    </>
  );
}

export function remove(active: Conversation): void {
  stop(active.id);
  removeConversation(active);
}

const fileName = (active: Conversation) => active.title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'chat';
