// Asking the model: sending, editing, answering again, continuing, stopping, and going on after the page was loaded again.
// One answer at a time in a conversation.
import { formFields } from './answer_form.ts';
import { ApiError } from './api.ts';
import {
  append, branch, change, dropLeaf, newConversation, newId, showBranch, titleFrom, without,
  type Attachment, type Conversation, type Message,
} from './conversation.ts';
import { AnswerDraft } from './answer_draft.ts';
import { setDraft } from './drafts.ts';
import { leaveOut, promptMessages } from './prompt.ts';
import { resumeAnswer, streamAnswer, type AnswerRequest, type Client, type Delta } from './responses.ts';
import { alone } from './tabs.ts';
import { giveUpTitle, suggestTitle } from './titles.ts';
import { chosenTools, runCalls } from './tools.ts';
import {
  activeSettings, askForKey, closeInterrupted, conversation, getState, modelOf, notify, putConversation, reread, setState,
} from './store.ts';
import { words } from './words.ts';

const controllers = new Map<string, AbortController>();

// Adds a user turn at the end of the active chat, or of a new one, and gets an answer.
export function send(text: string, files: Attachment[]): void {
  giveUpTitle();
  const state = getState();
  const title = titleFrom(text || (files[0]?.name ?? ''));
  const active = conversation(state.activeId) ?? newConversation(title, activeSettings(state));
  sendBelow(active, active.leaf, text, files);
  if (state.activeId !== active.id) location.hash = `/c/${active.id}`;
}

// The edited turn becomes a sibling of the old one; the old branch stays.
export function edit(active: Conversation, message: Message, text: string): void {
  sendBelow(active, message.parent, text, message.files ?? []);
}

function sendBelow(active: Conversation, parent: string | null, text: string, files: Attachment[]): void {
  if (controllers.has(active.id)) return;
  const message: Message = { id: newId(), parent, role: 'user', content: text, createdAt: Date.now() };
  if (files.length > 0) message.files = files;
  answerBelow(append(active, message), message.id);
}

// The edited answer becomes a version of its own, which the model writes on where that is asked for.
export function editAnswer(active: Conversation, message: Message, content: string, goesOn: boolean): void {
  if (controllers.has(active.id)) return;
  const { parent, role, reasoning, model } = message;
  const edited: Message = { id: newId(), parent, role, content, createdAt: Date.now(), status: 'done', ...(reasoning && { reasoning }), model };
  const changed = append(active, edited);
  if (goesOn) void write(changed, edited);
  else putConversation(changed);
}

// Another answer to the same turn. A failed one that holds nothing is replaced.
export function regenerate(active: Conversation, message: Message): void {
  if (controllers.has(active.id) || message.parent === null) return;
  const empty = message.content === '' && !message.reasoning;
  answerBelow(empty ? dropLeaf(active, message.id) : active, message.parent);
}

// Writes on at an answer that was stopped or ended at its limit of tokens.
export function continueAnswer(active: Conversation, message: Message): void {
  if (controllers.has(active.id) || message.parent === null) return;
  const contextLength = modelOf(getState(), active.settings)?.context_length;
  const used = (message.stats?.promptTokens ?? 0) + (message.stats?.completionTokens ?? 0);
  const isFull = contextLength !== undefined && used >= contextLength;
  void write(isFull ? slide(active, message.parent, used, contextLength) : active, message);
}

// Asks again without the oldest turns; from then on they are left out whenever the context is full.
export function retryWithoutOldest(active: Conversation, message: Message): void {
  if (controllers.has(active.id) || message.parent === null) return;
  regenerate(slide(active, message.parent), message);
}

// A new chat that begins with the last turn of this one, for the user to send.
export function moveToNewChat(active: Conversation): void {
  const turn = branch(active).findLast((message) => message.role === 'user');
  setDraft(null, { text: turn?.content ?? '', files: turn?.files ?? [] });
  location.hash = '';
}

export function stop(id: string | null): void {
  controllers.get(id ?? '')?.abort();
}

export function show(active: Conversation, message: Message): void {
  putConversation(showBranch(active, message.id));
}

export function removeMessage(active: Conversation, message: Message): void {
  if (controllers.has(active.id)) return;
  putConversation(without(active, message));
  notify(words.turns.deleted, { label: words.common.undo, run: () => putConversation(active) });
}

function answerBelow(active: Conversation, parent: string): void {
  const message = emptyAnswer(active, parent);
  void write(append(active, message), message);
}

function emptyAnswer(active: Conversation, parent: string): Message {
  const model = modelOf(getState(), active.settings)?.id ?? '';
  return { id: newId(), parent, role: 'assistant', content: '', createdAt: Date.now(), model };
}

// Gets an answer from the server, at the end of what `message` has already. One that calls tools goes on in a further
// message, once the calls have results.
async function write(active: Conversation, message: Message): Promise<void> {
  await stoppable(active.id, (signal) => alone(active.id, () => writeAll(active, message, signal)));
  suggestTitle(active.id);
}

async function writeAll(active: Conversation, message: Message, signal: AbortSignal): Promise<void> {
  let next: Message | undefined = message;
  for (let round = 1; next; round += 1) next = await writeOne(conversationWith(active, next), next, signal, round);
}

// Goes on with the answers that were being written when the page was closed. One that another tab writes is left to it,
// until that tab has closed.
export function resumeAnswers(): void {
  for (const { id, messages } of getState().conversations) {
    if (messages.some(({ status }) => status === 'streaming')) void alone(id, () => resume(id));
  }
}

async function resume(id: string): Promise<void> {
  await reread(id);
  const active = conversation(id);
  const message = active?.messages.find(({ status }) => status === 'streaming');
  if (!active || !message || controllers.has(id)) return;
  if (message.server) await stoppable(id, (signal) => writeAll(active, message, signal));
  const left = conversation(id);
  if (left) putConversation(closeInterrupted(left));
}

// Runs `task`, which stop() ends, as the answer that the conversation is getting.
async function stoppable(id: string, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  setRunning(id, controller);
  try {
    await task(controller.signal);
  } finally {
    setRunning(id, null);
  }
}

// The conversation as it is by now, with that message at its end.
function conversationWith(active: Conversation, message: Message): Conversation {
  const now = conversation(active.id);
  if (!now || active.messages.includes(message)) return active;
  return now.messages.includes(message) ? now : append(now, message);
}

const kMaxRounds = 16; // of calls, before an answer ends

// Gives the message in which the answer goes on; undefined: it is over.
async function writeOne(active: Conversation, message: Message, signal: AbortSignal, round: number): Promise<Message | undefined> {
  putConversation(change(active, message.id, { status: 'streaming', error: undefined, failure: undefined, finish: undefined }));
  const draft = new AnswerDraft(active.id, message);
  try {
    if (message.server) await take(draft, resumeAnswer(message.server.id, clientOf(active), signal));
    else await stream(draft, active, message, signal);
  } catch (error) {
    draft.close(signal.aborted ? { status: 'stopped' } : failed(error, message));
    return undefined;
  }
  const calls = draft.wholeCalls();
  draft.close({ status: 'done', ...(calls.length > 0 && { calls }) });
  if (calls.length === 0) return undefined;
  await runCalls(active.id, message.id, calls, signal);
  if (round === kMaxRounds) notify(words.turns.stillCalling(kMaxRounds));
  const isOver = signal.aborted || round === kMaxRounds || !conversation(active.id);
  return isOver ? undefined : emptyAnswer(active, message.id);
}

// A conversation that slides is asked again with fewer turns until they fit, which ends when only the last is left.
async function stream(draft: AnswerDraft, active: Conversation, message: Message, signal: AbortSignal): Promise<void> {
  try {
    await take(draft, streamAnswer(answerRequest(active, message), clientOf(active), signal));
  } catch (error) {
    const isTooLong = error instanceof ApiError && error.failure === 'too long';
    const shorter = isTooLong && active.slides ? slide(active, message.parent!, error.nPrompt, error.nCtx) : active;
    if (shorter.nLeftOut === active.nLeftOut) throw error;
    const shown = conversation(active.id);
    if (shown) putConversation({ ...shown, slides: true, nLeftOut: shorter.nLeftOut });
    await stream(draft, shorter, message, signal);
  }
}

async function take(draft: AnswerDraft, deltas: AsyncGenerator<Delta>): Promise<void> {
  for await (const delta of deltas) draft.add(delta);
}

function slide(active: Conversation, parent: string, nPrompt?: number, nCtx?: number): Conversation {
  return { ...active, slides: true, nLeftOut: leaveOut(active, parent, nPrompt, nCtx) ?? active.nLeftOut };
}

function setRunning(id: string, controller: AbortController | null): void {
  if (controller) controllers.set(id, controller);
  else controllers.delete(id);
  setState({ running: new Set(controllers.keys()) });
}

const clientOf = ({ id }: Conversation): Client => ({ key: getState().key, session: id });

function answerRequest(active: Conversation, message: Message): AnswerRequest {
  const { temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty, seed } = active.settings;
  const { max_tokens, thinking, effort, stop: stops } = active.settings;
  const messages = promptMessages(active, message.parent!);
  const tools = chosenTools().map(({ function: tool }) => tool);
  const isBegun = message.content !== '' || !!message.reasoning;
  if (isBegun) messages.push({ role: 'assistant', content: message.content, reasoning_content: message.reasoning });
  return {
    model: modelOf(getState(), active.settings)?.id ?? '',
    messages,
    temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty, seed,
    max_output_tokens: max_tokens,
    ...formFields(active.settings),
    ...(stops && stops.length > 0 && { stop: stops }),
    ...(thinking !== undefined && { chat_template_kwargs: { enable_thinking: thinking } }),
    ...(effort && { reasoning: { effort } }),
    ...(tools.length > 0 && { tools }),
    ...(isBegun && { continue_final_message: true }),
  };
}

function failed(error: unknown, message: Message): Partial<Message> {
  askForKey(error);
  if (message.server && error instanceof ApiError && error.status === 404) return { status: 'failed', error: words.turns.closed };
  const failure = error instanceof ApiError ? error.failure : undefined;
  return { status: 'failed', error: error instanceof Error ? error.message : String(error), failure };
}
