// How many tokens a message that is being written would make of the prompt, told before it is sent.
import { useEffect, useState } from 'preact/hooks';
import { countTokens } from './responses.ts';
import type { Draft } from './drafts.ts';
import { promptMessages, promptText } from './prompt.ts';
import { activeSettings, conversation, getState, modelOf } from './store.ts';

export interface PromptLength {
  nTokens: number;
  isGuess: boolean; // by the number of characters
  nCtx?: number;
}

const kPauseMs = 300; // after the last key
const kFromChars = 2_000; // shorter messages are not counted
const kCharsPerToken = 4;

// undefined for a short message without files.
export function usePromptLength(chat: string | null, draft: Draft): PromptLength | undefined {
  const [length, setLength] = useState<PromptLength>();
  const nChars = draft.files.reduce((sum, { text }) => sum + text.length, draft.text.length);
  const isCounted = draft.files.length > 0 || nChars >= kFromChars;
  useEffect(() => {
    if (!isCounted) return setLength(undefined);
    const controller = new AbortController();
    const timer = setTimeout(() => void lengthOf(chat, draft, controller.signal).then(setLength, () => {}), kPauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [chat, draft.text, draft.files]);
  return isCounted ? length : undefined;
}

async function lengthOf(chat: string | null, draft: Draft, signal: AbortSignal): Promise<PromptLength> {
  const state = getState();
  const active = conversation(chat);
  const model = modelOf(state, active?.settings ?? activeSettings(state));
  const before = active?.leaf ? promptMessages(active, active.leaf) : [];
  const messages = [...before, { role: 'user' as const, content: promptText({ content: draft.text, files: draft.files }) }];
  const guess = Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / kCharsPerToken);
  const nCtx = model?.context_length;
  // To be counted, a text has to be short enough for the context, and the model loaded.
  const isCountable = model?.state === 'ready' && nCtx !== undefined && guess < 2 * nCtx;
  const nTokens = isCountable ? await countTokens(model.id, messages, { key: state.key, session: chat ?? '' }, signal).catch(() => undefined) : undefined;
  signal.throwIfAborted();
  return { nTokens: nTokens ?? guess, isGuess: nTokens === undefined, nCtx };
}
