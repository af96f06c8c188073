// An answer while it arrives. It goes to the page at most every kRenderEveryMs.
import { change, type Message, type ServerAnswer, type Stats, type ToolCall } from './conversation.ts';
import { kMaxCalls, type Delta, type NewCall, type Usage } from './responses.ts';
import { conversation, putConversation } from './store.ts';

const kRenderEveryMs = 50;

const asked = (call: NewCall): ToolCall => ({ ...call, state: 'asked' });

export class AnswerDraft {
  private readonly startedAt = performance.now();
  private hasText = false;
  private firstAt = 0;
  private lastAt = 0;
  private reasonedAt = 0;
  private nChunks = 0;
  private content: string;
  private reasoning: string;
  private calls: ToolCall[] = [];
  private server: ServerAnswer | undefined;
  private finish: string | undefined;
  private usage: Usage | undefined;
  private decodeMs: number | undefined;
  private timer = 0;
  private readonly before: { content: string; reasoning: string };

  // The answer is written after what the message holds, or in place of what an earlier page has seen of it.
  constructor(private readonly conversationId: string, private readonly message: Message) {
    this.server = message.server;
    this.content = message.content.slice(0, this.server?.contentBefore);
    this.reasoning = (message.reasoning ?? '').slice(0, this.server?.reasoningBefore);
    this.before = { content: this.content, reasoning: this.reasoning };
  }

  add(delta: Delta): void {
    if (delta.text || delta.reasoning || delta.call) this.count(delta);
    if (delta.id && delta.id !== this.server?.id) this.keepId(delta.id);
    this.content += delta.text ?? '';
    this.reasoning += delta.reasoning ?? '';
    if (delta.call && this.calls.length < kMaxCalls) this.calls.push(asked(delta.call));
    if (delta.whole) this.replace(delta.whole);
    this.hasText ||= !!(delta.text || delta.reasoning || delta.whole);
    this.finish = delta.finish ?? this.finish;
    this.usage = delta.usage ?? this.usage;
    this.decodeMs = delta.decodeMs ?? this.decodeMs;
    this.timer ||= window.setTimeout(() => this.put({}, 'soon'), kRenderEveryMs);
  }

  close(end: Partial<Message>): void {
    clearTimeout(this.timer);
    this.put({ ...end, server: undefined }, 'now');
  }

  // Calls to make, once the answer has ended. Nobody knows what one that was cut would have been.
  wholeCalls(): ToolCall[] {
    return this.finish === 'length' ? [] : this.calls;
  }

  // At once: a page that is loaded again before the name is kept has lost the answer.
  private keepId(id: string): void {
    this.server = { id, contentBefore: this.before.content.length, reasoningBefore: this.before.reasoning.length };
    this.put({}, 'now');
  }

  private replace({ text, reasoning, calls }: NonNullable<Delta['whole']>): void {
    this.content = this.before.content + text;
    this.reasoning = this.before.reasoning + reasoning;
    this.calls = calls.map(asked);
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
    const { finish, server } = this;
    // Text that an earlier page has seen stays until it comes again.
    const text = this.hasText ? { content: this.content, reasoning: this.reasoning || undefined } : {};
    putConversation(change(active, this.message.id, { ...text, finish, server, stats: this.stats(), ...patch }), when);
  }

  private stats(): Stats | undefined {
    if (!this.firstAt) return this.message.stats;
    return {
      firstTokenMs: this.message.server ? this.message.stats?.firstTokenMs : this.firstAt - this.startedAt,
      // Chunks that come together say nothing about speed; the server's own time does.
      generationMs: this.decodeMs ?? this.lastAt - this.firstAt,
      reasoningMs: this.reasonedAt ? this.reasonedAt - this.firstAt : this.message.stats?.reasoningMs,
      promptTokens: this.usage?.nPrompt,
      cachedTokens: this.usage?.nCached,
      completionTokens: this.usage?.nCompletion ?? this.nChunks,
    };
  }
}
