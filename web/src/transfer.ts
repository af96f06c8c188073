// Conversations as files: JSON to keep and to bring back, Markdown to read.
import { objectIn } from './api.ts';
import {
  branch, kEfforts, kSamplers, newId,
  type Attachment, type Conversation, type Message, type Settings, type ToolCall,
} from './conversation.ts';
import { promptText } from './prompt.ts';
import { words } from './words.ts';

const kFormat = 'realizar-chats';
const kVersion = 1;

export function toJson(conversations: Conversation[]): string {
  return JSON.stringify({ format: kFormat, version: kVersion, conversations }, null, 1);
}

export function toMarkdown(conversation: Conversation): string {
  const parts = [`# ${conversation.title}`];
  if (conversation.settings.system) parts.push(`## System\n\n${conversation.settings.system}`);
  for (const message of branch(conversation)) {
    const calls = (message.calls ?? []).map((call) => promptText({ content: '', files: [{ name: `${call.name} ${call.arguments}`, text: call.result ?? '' }] }));
    const said = [promptText(message), ...calls].filter((part) => part !== '').join('\n\n');
    parts.push(`## ${message.role === 'user' ? 'You' : (message.model ?? 'Assistant')}\n\n${said}`);
  }
  return parts.join('\n\n') + '\n';
}

// Reads what toJson wrote. Every conversation gets a new id, so that nothing here is overwritten. Throws on a file that
// is something else; unknown fields are dropped.
export function fromJson(text: string): Conversation[] {
  const file = parse(text);
  if (file?.format !== kFormat || !Array.isArray(file.conversations)) throw new Error(words.storage.noChats);
  if (file.version !== kVersion) throw new Error(words.storage.version(String(file.version), kVersion));
  return file.conversations.map(readConversation);
}

// Chats that are not here yet: an import gives a chat a new id, its messages keep theirs.
export function withoutKnown(added: Conversation[], known: Conversation[]): Conversation[] {
  const ids = known.map(({ messages }) => new Set(messages.map(({ id }) => id)));
  return added.filter(({ messages }) => !ids.some((here) => messages.every(({ id }) => here.has(id))));
}

function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(words.storage.notJson);
  }
}

function readConversation(value: any): Conversation {
  if (!Array.isArray(value?.messages)) throw new Error(words.storage.damaged);
  const known = new Set<string>();
  const messages: Message[] = [];
  for (const message of value.messages) {
    messages.push(readMessage(message, known));
    known.add(message.id);
  }
  const leaf = known.has(value.leaf) ? value.leaf : (messages.at(-1)?.id ?? null);
  const createdAt = time(value.createdAt);
  const updatedAt = time(value.updatedAt);
  return { id: newId(), title: text(value.title) || words.sidebar.imported, createdAt, updatedAt, messages, leaf, settings: readSettings(value.settings) };
}

// A parent has to come before its children, which also rules out circles.
function readMessage(value: any, known: Set<string>): Message {
  if (!text(value?.id) || known.has(value.id)) throw new Error(words.storage.damaged);
  if (value.parent !== null && !known.has(value.parent)) throw new Error(words.storage.damaged);
  if (value.role !== 'user' && value.role !== 'assistant') throw new Error(words.storage.damaged);
  const message: Message = { id: value.id, parent: value.parent, role: value.role, content: text(value.content), createdAt: time(value.createdAt) };
  for (const name of ['reasoning', 'model', 'error', 'finish'] as const) {
    if (text(value[name])) message[name] = value[name];
  }
  const files = readFiles(value.files);
  if (files.length > 0) message.files = files;
  const calls = readCalls(value.calls);
  if (calls.length > 0) message.calls = calls;
  if (['done', 'stopped', 'failed'].includes(value.status)) message.status = value.status;
  return message;
}

// One that was not made yet will not be.
function readCalls(value: any): ToolCall[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((call) => {
    if (!text(call?.id) || !text(call?.name)) return [];
    const state = ['done', 'failed', 'denied'].includes(call.state) ? call.state : 'cancelled';
    return [{ id: call.id, name: call.name, arguments: text(call.arguments), state, ...(text(call.result) && { result: call.result }) }];
  });
}

function readFiles(value: any): Attachment[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((file) => (text(file?.name) && text(file?.text) ? [{ name: file.name, text: file.text }] : []));
}

export function readSettings(value: any): Settings {
  const settings: Settings = {};
  for (const name of ['model', 'system'] as const) if (text(value?.[name])) settings[name] = value[name];
  for (const name of kNumbers) if (Number.isFinite(value?.[name])) settings[name] = value[name];
  if (typeof value?.thinking === 'boolean') settings.thinking = value.thinking;
  if (kEfforts.includes(value?.effort)) settings.effort = value.effort;
  if (['json', 'schema', 'grammar'].includes(value?.form)) settings.form = value.form;
  if (objectIn(text(value?.schema))) settings.schema = value.schema;
  if (text(value?.grammar)) settings.grammar = value.grammar;
  if (Array.isArray(value?.samplers)) settings.samplers = value.samplers.filter((each: unknown) => kSamplers.includes(text(each)));
  if (Array.isArray(value?.stop)) settings.stop = value.stop.filter((each: unknown) => text(each) !== '');
  return settings;
}

const kNumbers = [
  'temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'frequency_penalty', 'presence_penalty', 'seed', 'max_tokens',
] as const;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const time = (value: unknown): number => (Number.isFinite(value) ? (value as number) : Date.now());
