// Calls of tools that a model makes: each is shown to the user, who allows it or not, and then made by the server.
import { callTool, objectIn, type Tool } from './api.ts';
import { changeCall, type ToolCall } from './conversation.ts';
import { printable } from './printable.ts';
import { conversation, getState, notify, putConversation } from './store.ts';
import { words } from './words.ts';

export type Decision = 'once' | 'always' | 'never';

interface KnownTool extends Tool {
  server: string;
}

// Tools that need no question any more, until the page closes.
const allowed = new Set<string>();
// Questions to the user, by the id of the call.
const questions = new Map<string, (decision: Decision) => void>();

const knownTools = (): KnownTool[] => getState().toolServers.flatMap(({ name, tools }) => tools.map((tool) => ({ ...tool, server: name })));

// The tools that the user has switched on.
export function chosenTools(): KnownTool[] {
  const { toolsOn } = getState();
  return knownTools().filter((tool) => toolsOn.includes(tool.function.name));
}

// The tool of that name, or the only one that has it without its server's.
function meant(tools: KnownTool[], name: string): KnownTool | undefined {
  const exact = tools.find((tool) => tool.function.name === name);
  const bare = tools.filter((tool) => tool.name === name || tool.function.name === `${tool.server}__${name}`);
  return exact ?? (bare.length === 1 ? bare[0] : undefined);
}

export const toolOf = (call: ToolCall): KnownTool | undefined => meant(knownTools(), call.name);

export function decide(call: ToolCall, decision: Decision): void {
  questions.get(call.id)?.(decision);
}

// Asks about the calls of a message, one after the other, and makes those that are allowed. What is left when `signal`
// stops it is cancelled.
export async function runCalls(conversationId: string, messageId: string, calls: ToolCall[], signal: AbortSignal): Promise<void> {
  for (const call of calls) {
    const put = (patch: Partial<ToolCall>) => {
      const active = conversation(conversationId);
      if (active) putConversation(changeCall(active, messageId, call.id, patch));
    };
    await runCall(call, put, signal);
  }
}

async function runCall(call: ToolCall, put: (patch: Partial<ToolCall>) => void, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return put({ state: 'cancelled' });
  const tool = meant(chosenTools(), call.name);
  const args = objectIn(call.arguments || '{}');
  if (!tool) {
    notify(words.tools.unknown(printable(call.name)));
    const names = chosenTools().map((each) => each.function.name);
    return put({ state: 'failed', result: `The call failed: there is no tool called ${call.name}; the tools are ${names.join(', ')}` });
  }
  if (!args) return put({ state: 'failed', result: 'The call failed: its arguments are no JSON object' });
  const decision = allowed.has(tool.function.name) ? 'once' : await ask(call, signal);
  if (signal.aborted) return put({ state: 'cancelled' });
  if (decision === 'never') return put({ state: 'denied' });
  if (decision === 'always') allowed.add(tool.function.name);
  put({ state: 'running' });
  try {
    const { text, isError } = await callTool(tool.server, tool.name, args, getState().key, signal);
    put({ state: isError ? 'failed' : 'done', result: text });
  } catch (error) {
    if (signal.aborted) return put({ state: 'cancelled' });
    put({ state: 'failed', result: `The call failed: ${error instanceof Error ? error.message : String(error)}` });
  }
}

function ask(call: ToolCall, signal: AbortSignal): Promise<Decision> {
  return new Promise<Decision>((resolve) => {
    questions.set(call.id, resolve);
    signal.addEventListener('abort', () => resolve('never'), { once: true });
  }).finally(() => questions.delete(call.id));
}
