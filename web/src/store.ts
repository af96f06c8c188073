// The page's state in one object, replaced on every change. Components read it by useStore; actions change it.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, listModels, listTools, listToolServers, type Model, type Tool } from './api.ts';
import type { Conversation, Settings, ToolCall } from './conversation.ts';
import * as database from './database.ts';
import { forgetDraft } from './drafts.ts';
import { readLocal, writeLocal } from './local.ts';
import { readSettings } from './transfer.ts';
import { words } from './words.ts';

export type Theme = 'auto' | 'light' | 'dark';
export type Panel = 'sidebar' | 'settings' | 'shortcuts';

export interface Notice {
  text: string;
  action?: { label: string; run: () => void };
}

export interface State {
  conversations: Conversation[];
  view: 'chat' | 'metrics' | 'models';
  activeId: string | null; // null: a new chat
  running: ReadonlySet<string>; // conversations that this tab is getting an answer for
  defaults: Settings; // of a new chat: what was used last
  models: Model[];
  modelsError: string | null;
  toolServers: ToolServer[]; // MCP servers that the server may ask
  toolsOn: string[]; // names of the tools that models are told of
  key: string;
  askKey: false | 'missing' | 'wrong' | 'asked'; // why the key's dialog is open
  theme: Theme;
  notice: Notice | null;
  open: Panel | null;
  sidebarHidden: boolean; // where there is room for it
  titlesByModel: boolean; // chats get titles that the model writes
}

export interface ToolServer {
  name: string;
  tools: Tool[];
  notes: string[];
  error?: string;
}

const kNarrow = '(max-width: 46rem)'; // as in the style sheet: the sidebar lies over the page

let state: State = {
  conversations: [],
  view: 'chat',
  activeId: null,
  running: new Set(),
  defaults: readSettings(readLocal('settings')),
  models: [],
  modelsError: null,
  toolServers: [],
  toolsOn: readNames(readLocal('tools')),
  key: readLocal('key') ?? '',
  askKey: false,
  theme: readTheme(readLocal('theme')),
  notice: null,
  open: null,
  sidebarHidden: readLocal('sidebarHidden') === true,
  titlesByModel: readLocal('titlesByModel') !== false,
};
const listeners = new Set<() => void>();

export const getState = (): State => state;

export function setState(patch: Partial<State>): void {
  state = { ...state, ...patch };
  listeners.forEach((listener) => listener());
}

export function useStore<T>(select: (state: State) => T): T {
  const [, setVersion] = useState(0);
  const selected = select(state);
  useEffect(() => {
    let last = selected;
    const listener = () => {
      const next = select(state);
      if (Object.is(next, last)) return;
      last = next;
      setVersion((version) => version + 1);
    };
    listeners.add(listener);
    listener();  // the state may have changed since the render
    return () => void listeners.delete(listener);
  });
  return selected;
}

function readNames(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

function readTheme(value: unknown): Theme {
  return value === 'light' || value === 'dark' ? value : 'auto';
}

function keep(name: string, value: unknown): void {
  if (!writeLocal(name, value)) notify(words.storage.noSettings);
}

export function notify(text: string, action?: Notice['action']): void {
  setState({ notice: { text, action } });
}

export function setTheme(theme: Theme): void {
  keep('theme', theme);
  document.documentElement.dataset['theme'] = theme;
  setState({ theme });
}

export function setKey(key: string): void {
  keep('key', key);
  setState({ key, askKey: false });
  void loadModels();
  void loadTools();
}

export async function loadModels(): Promise<void> {
  try {
    setState({ models: await listModels(state.key), modelsError: null });
  } catch (error) {
    const failure = error instanceof ApiError ? error : new ApiError('refused', String(error));
    setState({ modelsError: failure.message });
    askForKey(failure);
  }
}

// Each server's tools come when it answers; one that does not holds up no other.
export async function loadTools(): Promise<void> {
  const names = await listToolServers(state.key).catch(() => []);
  setState({ toolServers: names.map((name) => ({ name, tools: [], notes: [] })) });
  await Promise.all(names.map(loadToolsOf));
}

export async function loadToolsOf(name: string): Promise<void> {
  const put = (patch: Partial<ToolServer>) =>
    setState({ toolServers: state.toolServers.map((server) => (server.name === name ? { ...server, ...patch } : server)) });
  await listTools(name, state.key).then(
    ({ tools, notes }) => put({ tools, notes, error: undefined }),
    (error) => put({ error: error instanceof Error ? error.message : String(error) }),
  );
}

export function setTitlesByModel(titlesByModel: boolean): void {
  keep('titlesByModel', titlesByModel);
  setState({ titlesByModel });
}

export function setToolOn(name: string, on: boolean): void {
  const toolsOn = state.toolsOn.filter((other) => other !== name).concat(on ? [name] : []);
  keep('tools', toolsOn);
  setState({ toolsOn });
}

// Opens the key's dialog where a request failed for want of the right key. The one that was sent last is to blame.
export function askForKey(error: unknown): void {
  if (error instanceof ApiError && error.failure === 'unauthorized') setState({ askKey: state.key ? 'wrong' : 'missing' });
}

export function toggleSidebar(): void {
  if (matchMedia(kNarrow).matches) return setState({ open: state.open === 'sidebar' ? null : 'sidebar' });
  keep('sidebarHidden', !state.sidebarHidden);
  setState({ sidebarHidden: !state.sidebarHidden });
}

export const conversation = (id: string | null): Conversation | undefined => state.conversations.find((each) => each.id === id);
export const activeSettings = (state: State): Settings =>
  state.conversations.find((each) => each.id === state.activeId)?.settings ?? state.defaults;

// The model that an answer comes from: the chosen one while the server has it, else the first.
export const modelOf = (state: State, settings: Settings): Model | undefined =>
  state.models.find((model) => model.id === settings.model) ?? state.models[0];

// Settings belong to a chat; the next new chat begins with them.
export function setSettings(settings: Settings): void {
  keep('settings', settings);
  setState({ defaults: settings });
  const active = conversation(state.activeId);
  if (active) putConversation({ ...active, settings });
}

// Puts a conversation into the state, and on disk after a pause unless `now`.
export function putConversation(changed: Conversation, when: 'now' | 'soon' = 'now'): void {
  const others = state.conversations.filter((each) => each.id !== changed.id);
  setState({ conversations: newestFirst([changed, ...others]) });
  if (when === 'now') void save(changed.id);
  else saveSoon(changed.id);
}

export function removeConversation(removed: Conversation): void {
  setState({ conversations: state.conversations.filter((each) => each.id !== removed.id) });
  if (state.activeId === removed.id) location.hash = '';
  forgetDraft(removed.id);
  database.deleteConversation(removed.id).then(() => tabs?.postMessage(removed.id), storageFailed);
  notify(words.sidebar.deleted, { label: words.common.undo, run: () => putConversation(closeInterrupted(removed)) });
}

const kSaveDelayMs = 1_000;
const pending = new Map<string, number>();

function saveSoon(id: string): void {
  if (!pending.has(id)) pending.set(id, window.setTimeout(() => void save(id), kSaveDelayMs));
}

async function save(id: string): Promise<void> {
  clearTimeout(pending.get(id));
  pending.delete(id);
  const saved = conversation(id);
  if (!saved) return;
  await database.saveConversation(saved).then(() => tabs?.postMessage(id), storageFailed);
}

export function saveAllPending(): void {
  for (const id of [...pending.keys()]) void save(id);
}

function storageFailed(error: unknown): void {
  const full = error instanceof DOMException && error.name === 'QuotaExceededError';
  notify(words.storage.lost(full ? words.storage.full : words.storage.none));
}

// Another tab of this page changed a conversation: show what it saved.
const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('realizar');
if (tabs) tabs.onmessage = ({ data }) => void reread(String(data)).catch(() => {});

export async function reread(id: string): Promise<void> {
  if (state.running.has(id)) return;
  const saved = await database.loadConversation(id);
  const others = state.conversations.filter((each) => each.id !== id);
  setState({ conversations: newestFirst(saved ? [saved, ...others] : others) });
}

// Returns whether they could be read.
export async function loadConversations(): Promise<boolean> {
  try {
    setState({ conversations: newestFirst((await database.loadConversations()).map((each) => (goesOn(each) ? each : closeInterrupted(each)))) });
    return true;
  } catch (error) {
    storageFailed(error);
    return false;
  }
}

// Ends what can no longer go on.
export function closeInterrupted(conversation: Conversation): Conversation {
  const error = words.turns.closed;
  const messages = conversation.messages.map((message) => {
    if (message.status === 'streaming') return { ...message, status: 'failed' as const, error, server: undefined };
    const isOpen = message.calls?.some(({ state }) => state === 'asked' || state === 'running');
    return isOpen ? { ...message, calls: message.calls!.map(closeCall) } : message;
  });
  return { ...conversation, messages };
}

// The server still makes an answer of it, perhaps.
const goesOn = ({ messages }: Conversation): boolean => messages.some(({ status, server }) => status === 'streaming' && server);

const closeCall = (call: ToolCall): ToolCall => (call.state === 'asked' || call.state === 'running' ? { ...call, state: 'cancelled' } : call);

const newestFirst = (conversations: Conversation[]) => conversations.sort((a, b) => b.updatedAt - a.updatedAt);
