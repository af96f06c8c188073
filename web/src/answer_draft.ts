// An answer while it arrives. It goes to the page at most every kRenderEveryMs.
import type { CallPiece, Delta, Usage } from './api.ts';
import { change, newId, type Message, type Stats, type ToolCall } from './conversation.ts';
import { conversation, putConversation } from './store.ts';

const kRenderEveryMs = 50;

export class AnswerDraft {
  private readonly startedAt = performance.now();
  private firstAt = 0;
  private lastAt = 0;
  private reasonedAt = 0;
  private nChunks = 0;
  private content: string;
  private reasoning: string;
  private readonly calls: ToolCall[] = [];
  private finish: string | undefined;
  private usage: Usage | undefined;
  private decodeMs: number | undefined;
  private timer = 0;

  // What the message holds already stays; the answer is written after it.
  constructor(private readonly conversationId: string, private readonly message: Message) {
    this.content = message.content;
    this.reasoning = message.reasoning ?? '';
  }

  add(delta: Delta): void {
    if (delta.text || delta.reasoning || delta.calls) this.count(delta);
    for (const piece of delta.calls ?? []) this.addCall(piece);
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

  // Calls that are whole, once the answer has ended. Of one that was cut nobody knows what it would have been.
  wholeCalls(): ToolCall[] {
    return this.finish === 'length' ? [] : this.calls.filter((call) => call?.name);
  }

  private addCall(piece: CallPiece): void {
    const call = (this.calls[piece.index] ??= { id: newId(), name: '', arguments: '', state: 'asked' });
    call.id = piece.id ?? call.id;
    call.name += piece.name ?? '';
    call.arguments += piece.arguments ?? '';
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
    putConversation(change(active, this.message.id, { content, reasoning, finish, stats: this.stats(), ...patch }), when);
  }

  private stats(): Stats | undefined {
    if (!this.firstAt) return this.message.stats;
    return {
      firstTokenMs: this.firstAt - this.startedAt,
      // Chunks that come together say nothing about speed; the server's own time does.
      generationMs: this.decodeMs ?? this.lastAt - this.firstAt,
      reasoningMs: this.reasonedAt ? this.reasonedAt - this.firstAt : this.message.stats?.reasoningMs,
      promptTokens: this.usage?.nPrompt,
      cachedTokens: this.usage?.nCached,
      completionTokens: this.usage?.nCompletion ?? this.nChunks,
    };
  }
}
