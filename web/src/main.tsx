import { render } from 'preact';
import { resumeAnswers } from './chat.ts';
import { App } from './components/App.tsx';
import { keepDraftsOf } from './drafts.ts';
import { noteLeaving } from './leaving.ts';
import { getState, loadConversations, loadModels, loadTools, saveAllPending, setState, setTheme } from './store.ts';
import { loadWords } from './words.ts';

// Addresses: "#" is a new chat, "#/c/ID" a chat, "#/metrics" and "#/models" the views of that name.
function readAddress(): void {
  const id = /^#\/c\/(\w+)$/.exec(location.hash)?.[1] ?? null;
  const view = /^#\/(metrics|models)$/.exec(location.hash)?.[1] as 'metrics' | 'models' | undefined;
  setState({ view: view ?? 'chat', activeId: id });
}

addEventListener('hashchange', readAddress);
addEventListener('beforeunload', noteLeaving);
addEventListener('pagehide', saveAllPending);
document.addEventListener('visibilitychange', saveAllPending);
readAddress();
setTheme(getState().theme);
void loadModels();
void loadTools();
void Promise.all([loadConversations(), loadWords()]).then(([isComplete]) => {
  if (isComplete) keepDraftsOf(getState().conversations.map((each) => each.id));
  render(<App />, document.body);
  resumeAnswers();
});
