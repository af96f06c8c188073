import { useEffect } from 'preact/hooks';
import { stop } from '../chat.ts';
import { getState, setState, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Chat } from './Chat.tsx';
import { Header } from './Header.tsx';
import { KeyDialog } from './KeyDialog.tsx';
import { Metrics } from './Metrics.tsx';
import { Models } from './Models.tsx';
import { NoticeBar } from './NoticeBar.tsx';
import { SettingsPanel } from './SettingsPanel.tsx';
import { Shortcuts } from './Shortcuts.tsx';
import { Sidebar } from './Sidebar.tsx';
import { useFileDrops } from './file_drops.ts';

export function App() {
  const view = useStore((state) => state.view);
  const open = useStore((state) => state.open);
  const askKey = useStore((state) => state.askKey);
  const hidden = useStore((state) => state.sidebarHidden);
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  useFileDrops();
  return (
    <div class={`app ${hidden ? 'sidebar-hidden' : ''}`}>
      {view === 'chat' && <a class="skip" href="#message" onClick={skipToComposer}>{words.header.skip}</a>}
      <Sidebar />
      {open && open !== 'shortcuts' && <div class={`scrim ${open}-scrim`} onClick={() => setState({ open: null })} />}
      <div class="main">
        <Header />
        {view === 'chat' ? <Chat /> : view === 'models' ? <Models /> : <Metrics />}
        <NoticeBar />
      </div>
      {open === 'settings' && <SettingsPanel />}
      {open === 'shortcuts' && <Shortcuts />}
      {askKey && <KeyDialog />}
    </div>
  );
}

const focusComposer = () => document.querySelector<HTMLElement>('.composer textarea')?.focus();

function skipToComposer(event: Event): void {
  event.preventDefault();
  focusComposer();
}

const isTyping = (target: EventTarget | null): boolean => target instanceof Element && target.matches('input, textarea, select');

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return; // a dialog has its own keys
  if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    location.hash = '';
    focusComposer();
  } else if (event.key === '?' && !isTyping(event.target)) {
    event.preventDefault();
    setState({ open: 'shortcuts' });
  } else if (event.key === 'Escape') {
    const { activeId, running, open } = getState();
    if (running.has(activeId ?? '')) stop(activeId);
    else if (open) setState({ open: null });
  }
}
