// Titles of chats that the model writes, when it has nothing else to do.
import { branch, type Conversation } from './conversation.ts';
import { promptMessages } from './prompt.ts';
import { shortAnswer } from './responses.ts';
import { conversation, getState, modelOf, putConversation } from './store.ts';

const kQuestion = 'Write a title for this conversation, in its language: at most six words, without quotation marks and without anything else.';
const kMaxTokens = 32;
const kMaxChars = 80;
const kMinParams = 300e6; // smaller models do not follow such a question
const kIdleMs = 2_000;

let waiting = 0;
let asking: AbortController | undefined;

// Asks for a title once nothing has happened for a while. A chat that the user has named keeps its name.
export function suggestTitle(id: string): void {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => void ask(id), kIdleMs);
}

// The user asks something: that comes first.
export function giveUpTitle(): void {
  clearTimeout(waiting);
  asking?.abort();
}

function wantsTitle(active: Conversation | undefined): active is Conversation {
  const { titlesByModel, running } = getState();
  const answers = active ? branch(active).filter(({ role, status }) => role === 'assistant' && status === 'done') : [];
  return titlesByModel && running.size === 0 && active?.title === active?.firstTitle && answers.length === 1;
}

async function ask(id: string): Promise<void> {
  const active = conversation(id);
  if (!wantsTitle(active)) return;
  const state = getState();
  const model = modelOf(state, active.settings);
  if (!model || (model.n_params ?? 0) < kMinParams) return;
  asking = new AbortController();
  // After the conversation, so that the server has the whole prompt but for the question in its cache.
  const messages = [...promptMessages(active, active.leaf!), { role: 'user' as const, content: kQuestion }];
  const thinking = model.has_thinking_switch && { chat_template_kwargs: { enable_thinking: false } };
  const body = { model: model.id, messages, max_output_tokens: kMaxTokens, temperature: 0, priority: 1, ...thinking };
  const title = titleIn(await shortAnswer(body, { key: state.key, session: id }, asking.signal).catch(() => ''));
  const now = conversation(id);
  if (title && now?.title === now?.firstTitle) putConversation({ ...now!, title });
}

// '' where the model wrote something else.
export function titleIn(answer: string): string {
  const title = answer.replace(/^["'“„«*#\s]+|["'”“»*.\s]+$/g, '');
  return title.length > kMaxChars || title.includes('\n') ? '' : title;
}
