import { useState } from 'preact/hooks';
import type { Conversation } from '../conversation.ts';
import { age } from '../format.ts';
import { printableProse } from '../printable.ts';
import { setState, toggleSidebar, useStore } from '../store.ts';
import { remove } from './ChatMenu.tsx';
import { Icon, IconButton } from './Icon.tsx';

const kSearchFrom = 6; // fewer chats are found by looking

export function Sidebar() {
  const conversations = useStore((state) => state.conversations);
  const open = useStore((state) => state.open === 'sidebar');
  const [search, setSearch] = useState('');
  const found = conversations.filter((each) => contains(each, search.trim().toLowerCase()));
  const groups = [...new Set(found.map((each) => age(each.updatedAt)))];
  return (
    <nav class={`sidebar ${open ? 'open' : ''}`} aria-label="Chats">
      <div class="bar">
        <strong class="brand">realizar</strong>
        <span class="spacer" />
        <IconButton icon="menu" label="Hide chats" onClick={toggleSidebar} />
      </div>
      <a class="new" href="#" title="New chat (Ctrl+K)" onClick={() => setState({ open: null })}>
        <Icon name="plus" />
        New chat
      </a>
      {conversations.length >= kSearchFrom && (
        <input type="search" placeholder="Search chats" aria-label="Search chats" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      )}
      <div class="list">
        {groups.map((group) => (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {found.filter((each) => age(each.updatedAt) === group).map((each) => (
                <Row key={each.id} conversation={each} />
              ))}
            </ul>
          </section>
        ))}
        {found.length === 0 && <p class="muted">{search ? 'No chat matches.' : 'No chats yet.'}</p>}
      </div>
    </nav>
  );
}

function Row({ conversation }: { conversation: Conversation }) {
  const current = useStore((state) => state.view === 'chat' && state.activeId === conversation.id);
  const running = useStore((state) => state.running.has(conversation.id));
  const title = printableProse(conversation.title);
  return (
    <li class={current ? 'current' : ''}>
      <a href={`#/c/${conversation.id}`} title={title} aria-current={current ? 'page' : undefined} onClick={() => setState({ open: null })}>
        {running && <span class="pulse" title="Answering" />}
        {title}
      </a>
      <IconButton icon="trash" label={`Delete ${title}`} onClick={() => remove(conversation)} />
    </li>
  );
}

function contains(conversation: Conversation, words: string): boolean {
  if (!words || conversation.title.toLowerCase().includes(words)) return true;
  return conversation.messages.some((message) => message.content.toLowerCase().includes(words));
}
