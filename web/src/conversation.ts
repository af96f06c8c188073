// A conversation is a tree of messages: editing a turn or asking for another answer adds a sibling and loses nothing.
// `leaf` is the last message of the branch on show. All functions are pure.

import type { Failure } from './api.ts';
import { words } from './words.ts';

export interface Stats {
  firstTokenMs?: number; // unknown to a page that was loaded after it
  generationMs: number; // from the first to the last token
  reasoningMs?: number;
  promptTokens?: number; // known only when the server has reported usage
  cachedTokens?: number;
  completionTokens: number; // until then: chunks received
}

// A text file that goes into the prompt with a turn.
export interface Attachment {
  name: string;
  text: string;
}

// A call that the model has made, and what became of it.
export interface ToolCall {
  id: string;
  name: string; // as the model knows the tool
  arguments: string; // JSON
  state: 'asked' | 'running' | 'done' | 'failed' | 'denied' | 'cancelled';
  result?: string;
}

// An answer that the server is making: its name there, and how much the message held before it, in characters.
export interface ServerAnswer {
  id: string;
  contentBefore: number;
  reasoningBefore: number;
}

export type Status = 'streaming' | 'done' | 'stopped' | 'failed';

export interface Message {
  id: string;
  parent: string | null;
  role: 'user' | 'assistant';
  content: string;
  createdAt: number; // Unix time in ms
  files?: Attachment[];
  reasoning?: string;
  calls?: ToolCall[]; // the answer goes on below, once they have results
  model?: string;
  status?: Status;
  error?: string;
  failure?: Failure; // what kind of error
  finish?: string;
  stats?: Stats;
  server?: ServerAnswer; // while it streams
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
  stop?: string[];
  thinking?: boolean;
  effort?: Effort; // of reasoning
  form?: 'json' | 'schema' | 'grammar'; // of answers; absent: free text
  schema?: string; // JSON
  grammar?: string; // GBNF
  samplers?: string[]; // in the order of their use; absent: the server's
}

export const kEfforts = ['low', 'medium', 'high'] as const;
export type Effort = (typeof kEfforts)[number];

export const kSamplers = ['penalties', 'dry', 'top_n_sigma', 'temperature', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc'];

export interface Conversation {
  id: string;
  title: string;
  firstTitle?: string; // that the chat began with: one that is still the same was not chosen by anybody
  createdAt: number;
  updatedAt: number;
  messages: Message[]; // a parent comes before its children
  leaf: string | null;
  settings: Settings;
  slides?: boolean; // oldest turns are left out of the prompt when it no longer fits
  nLeftOut?: number; // messages at the beginning of this branch that are left out now
}

// crypto.randomUUID is missing on plain http outside localhost.
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newConversation(title: string, settings: Settings): Conversation {
  const now = Date.now();
  return { id: newId(), title, firstTitle: title, createdAt: now, updatedAt: now, messages: [], leaf: null, settings };
}

export function titleFrom(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > 60 ? line.slice(0, 59).trimEnd() + '…' : line || words.sidebar.untitled;
}

// Messages from the first to the leaf.
export function branch(conversation: Conversation, leaf = conversation.leaf): Message[] {
  const byId = new Map(conversation.messages.map((message) => [message.id, message]));
  const messages: Message[] = [];
  for (let message = byId.get(leaf ?? ''); message; message = byId.get(message.parent ?? '')) messages.push(message);
  return messages.reverse();
}

export function siblings(conversation: Conversation, message: Message): Message[] {
  return conversation.messages.filter((other) => other.parent === message.parent && other.role === message.role);
}

export function append(conversation: Conversation, message: Message): Conversation {
  const messages = [...conversation.messages, message];
  const isOnBranch = message.parent === conversation.leaf;
  const nLeftOut = isOnBranch ? conversation.nLeftOut : undefined;
  return { ...conversation, messages, leaf: message.id, nLeftOut, updatedAt: message.createdAt };
}

export function change(conversation: Conversation, id: string, patch: Partial<Message>): Conversation {
  const messages = conversation.messages.map((message) => (message.id === id ? { ...message, ...patch } : message));
  return { ...conversation, messages };
}

export function changeCall(conversation: Conversation, id: string, callId: string, patch: Partial<ToolCall>): Conversation {
  const calls = conversation.messages
    .find((message) => message.id === id)
    ?.calls?.map((call) => (call.id === callId ? { ...call, ...patch } : call));
  return change(conversation, id, { calls });
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
  return { ...conversation, leaf, nLeftOut: undefined };
}

// Without the message. One of several versions goes with all that follows it; after a sole one, what follows stays.
export function without(conversation: Conversation, message: Message): Conversation {
  const isVersion = siblings(conversation, message).length > 1;
  const gone = isVersion ? withDescendants(conversation, message.id) : new Set([message.id]);
  const messages = conversation.messages
    .filter((other) => !gone.has(other.id))
    .map((other) => (other.parent === message.id ? { ...other, parent: message.parent } : other));
  const rest = { ...conversation, messages, nLeftOut: undefined };
  if (conversation.leaf !== null && !gone.has(conversation.leaf)) return rest;
  const top = messages.findLast((other) => other.parent === message.parent)?.id ?? message.parent;
  return top === null ? { ...rest, leaf: null } : showBranch(rest, top);
}

function withDescendants(conversation: Conversation, id: string): Set<string> {
  const found = new Set([id]);
  for (const message of conversation.messages) if (message.parent !== null && found.has(message.parent)) found.add(message.id);
  return found;
}
