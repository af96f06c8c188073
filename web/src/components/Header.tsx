import { setState, toggleSidebar, useStore } from '../store.ts';
import { words } from '../words.ts';
import { ChatMenu } from './ChatMenu.tsx';
import { IconButton, IconLink } from './Icon.tsx';
import { ModelPicker } from './ModelPicker.tsx';

export function Header() {
  const view = useStore((state) => state.view);
  const settingsOpen = useStore((state) => state.open === 'settings');
  return (
    <header class="bar">
      <IconButton icon="menu" label={words.header.showChats} class="show-sidebar" onClick={toggleSidebar} />
      {view === 'chat' ? <ModelPicker /> : <h1>{view === 'models' ? words.models.title : words.header.metrics}</h1>}
      <span class="spacer" />
      {view === 'chat' ? <ChatMenu /> : <IconLink icon="chat" label={words.header.chat} href="#" />}
      <IconButton icon="sliders" label={words.header.settings} pressed={settingsOpen} onClick={() => setState({ open: settingsOpen ? null : 'settings' })} />
    </header>
  );
}
