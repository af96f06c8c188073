// The messages that the model gets for an answer.
import { branch, type Attachment, type Conversation, type Message, type ToolCall } from './conversation.ts';

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  reasoning_content?: string;
  tool_calls?: { id: string; name: string; arguments: string }[];
  tool_call_id?: string;
}

// The messages for an answer below `parent`. Messages without text are left out, and neighbours of one role become one:
// many chat templates refuse two turns of the user in a row.
export function promptMessages(conversation: Conversation, parent: string): PromptMessage[] {
  const messages: PromptMessage[] = [];
  const system = conversation.settings.system?.trim();
  if (system) messages.push({ role: 'system', content: system });
  for (const turn of branch(conversation, parent).slice(conversation.nLeftOut ?? 0)) {
    const content = promptText(turn);
    const last = messages.at(-1);
    if (turn.calls?.length) messages.push({ role: turn.role, content, tool_calls: turn.calls.map(spelled) }, ...turn.calls.map(resultMessage));
    else if (last?.role === turn.role) last.content += `\n\n${content}`;
    else if (content) messages.push({ role: turn.role, content });
  }
  return messages;
}

const spelled = ({ id, name, arguments: args }: ToolCall) => ({ id, name, arguments: args });

// Every call has an answer, or many templates refuse the prompt.
function resultMessage(call: ToolCall): PromptMessage {
  const refusal = call.state === 'denied' ? 'The call failed: the person did not allow it' : 'The call was cancelled.';
  return { role: 'tool', tool_call_id: call.id, content: call.result ?? refusal };
}

// A turn's files stand before its text, each in a fence that is longer than any inside it.
export function promptText({ content, files = [] }: Pick<Message, 'content' | 'files'>): string {
  return [...files.map(fenced), content].filter((part) => part !== '').join('\n\n');
}

function fenced({ name, text }: Attachment): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `File ${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

const callsLength = ({ calls = [] }: Message) => calls.reduce((sum, call) => sum + call.arguments.length + (call.result?.length ?? 0), 0);

const kAimedShare = 0.75; // of the context, so that an answer has room too

// How many of the oldest messages to leave out of a prompt that has nPrompt tokens and should fit into nCtx; undefined
// where only the last turn is left. Texts are weighed by their length; without the numbers half of them go.
export function leaveOut(conversation: Conversation, parent: string, nPrompt?: number, nCtx?: number): number | undefined {
  const turns = branch(conversation, parent);
  const lengths = turns.map((turn) => promptText(turn).length + callsLength(turn));
  const sum = (from: number) => lengths.slice(from).reduce((total, length) => total + length, 0);
  const before = conversation.nLeftOut ?? 0;
  const share = nPrompt && nCtx ? Math.min(0.9, (kAimedShare * nCtx) / nPrompt) : 0.5;
  const goal = sum(before) * share;
  const starts = turns.flatMap((turn, idx) => (turn.role === 'user' && idx > before ? [idx] : []));
  return starts.find((start) => sum(start) <= goal) ?? starts.at(-1);
}
