// Asking the model: sending, editing, answering again, stopping. One answer at a time in a conversation.
import { ApiError, streamChat, type ChatRequest, type Delta, type Usage } from './api.ts';
import {
  append, change, dropLeaf, newConversation, newId, promptMessages, showBranch, titleFrom, type Conversation, type Message, type Stats,
} from './conversation.ts';
import { activeSettings, conversation, getState, modelOf, putConversation, setState } from './store.ts';

const kRenderEveryMs = 50;

const controllers = new Map<string, AbortController>();

// Adds a user turn at the end of the active chat, or of a new one, and gets an answer.
export function send(text: string): void {
  const state = getState();
  const active = conversation(state.activeId) ?? newConversation(titleFrom(text), activeSettings(state));
  sendBelow(active, active.leaf, text);
  if (state.activeId !== active.id) location.hash = `/c/${active.id}`;
}

// The edited turn becomes a sibling of the old one; the old branch stays.
export function edit(active: Conversation, message: Message, text: string): void {
  sendBelow(active, message.parent, text);
}

function sendBelow(active: Conversation, parent: string | null, text: string): void {
  if (controllers.has(active.id)) return;
  const message: Message = { id: newId(), parent, role: 'user', content: text, createdAt: Date.now() };
  void answer(append(active, message), message.id);
}

// Another answer to the same turn. A failed one that holds nothing is replaced.
export function regenerate(active: Conversation, message: Message): void {
  if (controllers.has(active.id) || message.parent === null) return;
  const empty = message.content === '' && !message.reasoning;
  void answer(empty ? dropLeaf(active, message.id) : active, message.parent);
}

export function stop(id: string | null): void {
  controllers.get(id ?? '')?.abort();
}

export function show(active: Conversation, message: Message): void {
  putConversation(showBranch(active, message.id));
}

async function answer(active: Conversation, parent: string): Promise<void> {
  const state = getState();
  const controller = new AbortController();
  const model = modelOf(state, active.settings)?.id ?? '';
  const message: Message = { id: newId(), parent, role: 'assistant', content: '', createdAt: Date.now(), model, status: 'streaming' };
  putConversation(append(active, message));
  setRunning(active.id, controller);
  const draft = new Draft(active.id, message.id);
  try {
    for await (const delta of streamChat(chatRequest(active, parent, model), state.key, controller.signal)) draft.add(delta);
    draft.close({ status: 'done' });
  } catch (error) {
    draft.close(controller.signal.aborted ? { status: 'stopped' } : failed(error));
  } finally {
    setRunning(active.id, null);
  }
}

function setRunning(id: string, controller: AbortController | null): void {
  if (controller) controllers.set(id, controller);
  else controllers.delete(id);
  setState({ running: new Set(controllers.keys()) });
}

function chatRequest(active: Conversation, parent: string, model: string): ChatRequest {
  const { model: _model, system: _system, ...sampling } = active.settings;
  return { model, messages: promptMessages(active, parent), ...sampling };
}

function failed(error: unknown): Partial<Message> {
  if (error instanceof ApiError && error.failure === 'unauthorized') setState({ askKey: true });
  return { status: 'failed', error: error instanceof Error ? error.message : String(error) };
}

// An answer while it arrives. It goes to the page at most every kRenderEveryMs.
class Draft {
  private readonly startedAt = performance.now();
  private firstAt = 0;
  private lastAt = 0;
  private reasonedAt = 0;
  private nChunks = 0;
  private content = '';
  private reasoning = '';
  private finish: string | undefined;
  private usage: Usage | undefined;
  private decodeMs: number | undefined;
  private timer = 0;

  constructor(private readonly conversationId: string, private readonly messageId: string) {}

  add(delta: Delta): void {
    if (delta.text || delta.reasoning) this.count(delta);
    this.content += delta.text ?? '';
    this.reasoning += delta.reasoning ?? '';
    this.finish = delta.finish ?? this.finish;
    this.usage = delta.usage ?? this.usage;
    this.decodeMs = delta.decodeMs ?? this.decodeMs;
    this.timer ||= window.setTimeout(() => this.put({}, 'soon'), kRenderEveryMs);
  }

  close(end: Partial<Message>): void {
    clearTimeout(this.timer);
    this.put(end, 'now');
  }

  private count(delta: Delta): void {
    this.lastAt = performance.now();
    this.firstAt ||= this.lastAt;
    if (delta.reasoning) this.reasonedAt = this.lastAt;
    this.nChunks += 1;
  }

  private put(patch: Partial<Message>, when: 'now' | 'soon'): void {
    this.timer = 0;
    const active = conversation(this.conversationId);
    if (!active) return;
    const { content, finish } = this;
    const reasoning = this.reasoning || undefined;
    putConversation(change(active, this.messageId, { content, reasoning, finish, stats: this.stats(), ...patch }), when);
  }

  private stats(): Stats | undefined {
    if (!this.firstAt) return undefined;
    return {
      firstTokenMs: this.firstAt - this.startedAt,
      // Chunks that come together say nothing about speed; the server's own time does.
      generationMs: this.decodeMs ?? this.lastAt - this.firstAt,
      reasoningMs: this.reasonedAt ? this.reasonedAt - this.firstAt : undefined,
      promptTokens: this.usage?.prompt_tokens,
      cachedTokens: this.usage?.prompt_tokens_details?.cached_tokens,
      completionTokens: this.usage?.completion_tokens ?? this.nChunks,
    };
  }
}
