import { activeSettings, getState, modelOf, setSettings, setState, setTheme, useStore, type Panel, type Theme } from '../store.ts';
import { ChatMenu } from './ChatMenu.tsx';
import { IconButton, IconLink, type IconName } from './Icon.tsx';

const kNextTheme: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };
const kThemeIcon: Record<Theme, IconName> = { auto: 'auto', light: 'sun', dark: 'moon' };

export function Header() {
  const theme = useStore((state) => state.theme);
  const view = useStore((state) => state.view);
  const open = useStore((state) => state.open);
  const toggle = (panel: Panel) => setState({ open: open === panel ? null : panel });
  return (
    <header class="bar">
      <IconButton icon="menu" label="Chats" class="narrow-only" onClick={() => toggle('sidebar')} />
      {view === 'chat' ? <ModelPicker /> : <h1>Metrics</h1>}
      <span class="spacer" />
      {view === 'chat' && <ChatMenu />}
      {view === 'chat' ? <IconLink icon="chart" label="Metrics" href="#/metrics" /> : <IconLink icon="chat" label="Chat" href="#" />}
      <IconButton icon={kThemeIcon[theme]} label={`Theme: ${theme}`} onClick={() => setTheme(kNextTheme[theme])} />
      <IconButton icon="sliders" label="Settings" pressed={open === 'settings'} onClick={() => toggle('settings')} />
    </header>
  );
}

function ModelPicker() {
  const models = useStore((state) => state.models);
  const model = useStore((state) => modelOf(state, activeSettings(state)));
  if (!model) return null;
  if (models.length === 1) return <span class="model">{model.id}</span>;
  const choose = (event: Event) => setSettings({ ...activeSettings(getState()), model: (event.currentTarget as HTMLSelectElement).value });
  return (
    <select class="model" aria-label="Model" value={model.id} onChange={choose}>
      {models.map(({ id, loaded }) => (
        <option key={id} value={id}>
          {loaded === false ? `${id} (not loaded)` : id}
        </option>
      ))}
    </select>
  );
}
