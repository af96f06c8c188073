import { useEffect } from 'preact/hooks';
import { stop } from '../chat.ts';
import { getState, setState, useStore } from '../store.ts';
import { Chat } from './Chat.tsx';
import { Header } from './Header.tsx';
import { KeyDialog } from './KeyDialog.tsx';
import { Metrics } from './Metrics.tsx';
import { NoticeBar } from './NoticeBar.tsx';
import { SettingsPanel } from './SettingsPanel.tsx';
import { Sidebar } from './Sidebar.tsx';

export function App() {
  const view = useStore((state) => state.view);
  const open = useStore((state) => state.open);
  const askKey = useStore((state) => state.askKey);
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <div class="app">
      <Sidebar />
      {open && <div class="scrim" onClick={() => setState({ open: null })} />}
      <div class="main">
        <Header />
        {view === 'chat' ? <Chat /> : <Metrics />}
      </div>
      {open === 'settings' && <SettingsPanel />}
      {askKey && <KeyDialog />}
      <NoticeBar />
    </div>
  );
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || getState().askKey) return;
  if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    location.hash = '';
    document.querySelector<HTMLElement>('.composer textarea')?.focus();
  } else if (event.key === 'Escape') {
    const { activeId, running, open } = getState();
    if (running.has(activeId ?? '')) stop(activeId);
    else if (open) setState({ open: null });
  }
}
