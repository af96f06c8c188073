// Text and files that were not sent yet, for each chat. The text is kept over reloads, the files are not.
import { useEffect, useState } from 'preact/hooks';
import type { Attachment } from './conversation.ts';
import { localNames, readLocal, writeLocal } from './local.ts';

export interface Draft {
  text: string;
  files: Attachment[];
}

const kNewChat = 'new';
const kPrefix = 'draft.';
const kNothing: Draft = { text: '', files: [] };

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

export function draftOf(chat: string | null): Draft {
  const id = chat ?? kNewChat;
  const known = drafts.get(id);
  if (known) return known;
  const kept = readLocal(kPrefix + id);
  const draft = typeof kept === 'string' ? { text: kept, files: [] } : kNothing;
  drafts.set(id, draft);
  return draft;
}

export function setDraft(chat: string | null, patch: Partial<Draft>): void {
  const id = chat ?? kNewChat;
  const draft = { ...draftOf(chat), ...patch };
  drafts.set(id, draft);
  writeLocal(kPrefix + id, draft.text || undefined);
  listeners.forEach((listener) => listener());
}

export function forgetDraft(chat: string | null): void {
  setDraft(chat, kNothing);
}

// Drops what belongs to chats that are no more.
export function keepDraftsOf(chats: string[]): void {
  const known = new Set([...chats, kNewChat]);
  for (const name of localNames()) {
    if (name.startsWith(kPrefix) && !known.has(name.slice(kPrefix.length))) writeLocal(name, undefined);
  }
}

export function useDraft(chat: string | null): Draft {
  const [, setVersion] = useState(0);
  useEffect(() => {
    const listener = () => setVersion((version) => version + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return draftOf(chat);
}
