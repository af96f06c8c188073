// A conversation is a tree of messages: editing a turn or asking for another answer adds a sibling and loses nothing.
// `leaf` is the last message of the branch on show. All functions are pure.

export interface Stats {
  firstTokenMs: number;
  generationMs: number; // from the first to the last token
  reasoningMs?: number;
  promptTokens?: number; // known only when the server has reported usage
  cachedTokens?: number;
  completionTokens: number; // until then: chunks received
}

export type Status = 'streaming' | 'done' | 'stopped' | 'failed';

export interface Message {
  id: string;
  parent: string | null;
  role: 'user' | 'assistant';
  content: string;
  createdAt: number; // Unix time in ms
  reasoning?: string;
  model?: string;
  status?: Status;
  error?: string;
  finish?: string;
  stats?: Stats;
}

export interface Settings {
  model?: string;
  system?: string;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  repetition_penalty?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  seed?: number;
  max_tokens?: number;
}

export interface Conversation {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  messages: Message[]; // a parent comes before its children
  leaf: string | null;
  settings: Settings;
}

// crypto.randomUUID is missing on plain http outside localhost.
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newConversation(title: string, settings: Settings): Conversation {
  const now = Date.now();
  return { id: newId(), title, createdAt: now, updatedAt: now, messages: [], leaf: null, settings };
}

export function titleFrom(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > 60 ? line.slice(0, 59).trimEnd() + '…' : line || 'New chat';
}

// Messages from the first to the leaf.
export function branch(conversation: Conversation, leaf = conversation.leaf): Message[] {
  const byId = new Map(conversation.messages.map((message) => [message.id, message]));
  const messages: Message[] = [];
  for (let message = byId.get(leaf ?? ''); message; message = byId.get(message.parent ?? '')) messages.push(message);
  return messages.reverse();
}

export function siblings(conversation: Conversation, message: Message): Message[] {
  return conversation.messages.filter((other) => other.parent === message.parent);
}

export function append(conversation: Conversation, message: Message): Conversation {
  const messages = [...conversation.messages, message];
  return { ...conversation, messages, leaf: message.id, updatedAt: message.createdAt };
}

export function change(conversation: Conversation, id: string, patch: Partial<Message>): Conversation {
  const messages = conversation.messages.map((message) => (message.id === id ? { ...message, ...patch } : message));
  return { ...conversation, messages };
}

// Drops a message that has no answer below it; the branch then ends at its parent.
export function dropLeaf(conversation: Conversation, id: string): Conversation {
  const message = conversation.messages.find((candidate) => candidate.id === id);
  if (!message || conversation.messages.some((other) => other.parent === id)) return conversation;
  const messages = conversation.messages.filter((other) => other.id !== id);
  return { ...conversation, messages, leaf: message.parent };
}

// Shows the branch through `id`, down to its newest message.
export function showBranch(conversation: Conversation, id: string): Conversation {
  const newestChild = (parent: string) => conversation.messages.findLast((message) => message.parent === parent)?.id;
  let leaf = id;
  for (let child = newestChild(leaf); child; child = newestChild(leaf)) leaf = child;
  return { ...conversation, leaf };
}

// What the model is sent for an answer below `parent`. Answers without text are left out with nothing lost.
export function promptMessages(conversation: Conversation, parent: string) {
  const turns = branch(conversation, parent)
    .filter((message) => message.content !== '')
    .map(({ role, content }) => ({ role, content }));
  const system = conversation.settings.system?.trim();
  return system ? [{ role: 'system' as const, content: system }, ...turns] : turns;
}
