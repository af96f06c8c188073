import { setState, setTheme, toggleSidebar, useStore, type Theme } from '../store.ts';
import { ChatMenu } from './ChatMenu.tsx';
import { IconButton, IconLink, type IconName } from './Icon.tsx';
import { ModelPicker } from './ModelPicker.tsx';

const kNextTheme: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };
const kThemeIcon: Record<Theme, IconName> = { auto: 'auto', light: 'sun', dark: 'moon' };

export function Header() {
  const theme = useStore((state) => state.theme);
  const view = useStore((state) => state.view);
  const settingsOpen = useStore((state) => state.open === 'settings');
  return (
    <header class="bar">
      <IconButton icon="menu" label="Show chats" class="show-sidebar" onClick={toggleSidebar} />
      {view === 'chat' ? <ModelPicker /> : <h1>Metrics</h1>}
      <span class="spacer" />
      {view === 'chat' && <ChatMenu />}
      {view === 'chat' ? <IconLink icon="chart" label="Metrics" href="#/metrics" /> : <IconLink icon="chat" label="Chat" href="#" />}
      <IconButton icon={kThemeIcon[theme]} label={`Theme: ${theme}`} onClick={() => setTheme(kNextTheme[theme])} />
      <IconButton icon="sliders" label="Settings" pressed={settingsOpen} onClick={() => setState({ open: settingsOpen ? null : 'settings' })} />
    </header>
  );
}
