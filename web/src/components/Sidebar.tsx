import { useState } from 'preact/hooks';
import type { Conversation } from '../conversation.ts';
import { age } from '../format.ts';
import { printableProse } from '../printable.ts';
import { setState, setTheme, toggleSidebar, useStore, type Theme } from '../store.ts';
import { words } from '../words.ts';
import { chatActions } from './ChatMenu.tsx';
import { Icon, IconButton, type IconName } from './Icon.tsx';
import { Menu } from './Menu.tsx';
import { RenameDialog } from './RenameDialog.tsx';

const kSearchFrom = 6; // fewer chats are found by looking

export function Sidebar() {
  const conversations = useStore((state) => state.conversations);
  const open = useStore((state) => state.open === 'sidebar');
  const [search, setSearch] = useState('');
  const found = conversations.filter((each) => contains(each, search.trim().toLowerCase()));
  const groups = [...new Set(found.map((each) => age(each.updatedAt)))];
  return (
    <nav class={`sidebar ${open ? 'open' : ''}`} aria-label={words.sidebar.label}>
      <div class="bar">
        <strong class="brand">realizar</strong>
        <span class="spacer" />
        <IconButton icon="menu" label={words.header.hideChats} onClick={toggleSidebar} />
      </div>
      <a class="new" href="#" title={words.sidebar.newChatTitle} onClick={() => setState({ open: null })}>
        <Icon name="plus" />
        {words.sidebar.newChat}
      </a>
      {conversations.length >= kSearchFrom && (
        <input type="search" placeholder={words.sidebar.search} aria-label={words.sidebar.search} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
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
        {found.length === 0 && <p class="muted">{search ? words.sidebar.noMatch : words.sidebar.empty}</p>}
      </div>
      <Foot />
    </nav>
  );
}

const kNextTheme: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };
const kThemeIcon: Record<Theme, IconName> = { auto: 'auto', light: 'sun', dark: 'moon' };

function Foot() {
  const theme = useStore((state) => state.theme);
  const view = useStore((state) => state.view);
  const close = () => setState({ open: null });
  return (
    <div class="foot">
      <a class="view" href="#/models" aria-current={view === 'models' ? 'page' : undefined} onClick={close}>
        <Icon name="box" />
        {words.models.title}
      </a>
      <a class="view" href="#/metrics" aria-current={view === 'metrics' ? 'page' : undefined} onClick={close}>
        <Icon name="chart" />
        {words.header.metrics}
      </a>
      <span class="spacer" />
      <IconButton icon={kThemeIcon[theme]} label={words.header.theme[theme]} onClick={() => setTheme(kNextTheme[theme])} />
    </div>
  );
}

function Row({ conversation }: { conversation: Conversation }) {
  const current = useStore((state) => state.view === 'chat' && state.activeId === conversation.id);
  const running = useStore((state) => state.running.has(conversation.id));
  const [renaming, setRenaming] = useState(false);
  const title = printableProse(conversation.title);
  return (
    <li class={current ? 'current' : ''}>
      <a href={`#/c/${conversation.id}`} title={title} aria-current={current ? 'page' : undefined} onClick={() => setState({ open: null })}>
        {running && <span class="pulse" title={words.sidebar.answering} />}
        {title}
      </a>
      <Menu label={words.sidebar.menuOf(title)} class="icon-button" items={chatActions(conversation, () => setRenaming(true))}>
        <Icon name="more" />
      </Menu>
      {renaming && <RenameDialog active={conversation} close={() => setRenaming(false)} />}
    </li>
  );
}

function contains(conversation: Conversation, words: string): boolean {
  if (!words || conversation.title.toLowerCase().includes(words)) return true;
  return conversation.messages.some((message) => message.content.toLowerCase().includes(words));
}
