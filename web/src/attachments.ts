// Files that the user drops, pastes or chooses. They are read here and go nowhere but into the prompt.
import type { Attachment } from './conversation.ts';
import { draftOf, setDraft } from './drafts.ts';
import { bytes } from './format.ts';
import { getState, notify } from './store.ts';

const kMaxBytes = 1 << 20; // some 300,000 tokens: more than nearly every model's context
const kMaxFiles = 20;

// Adds files to what is being written in the chat on show.
export async function attach(files: Iterable<File>): Promise<void> {
  const chat = getState().activeId;
  const read = await Promise.allSettled(Array.from(files, readText));
  const added = read.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const problems = read.flatMap((each) => (each.status === 'rejected' ? [String(each.reason?.message ?? each.reason)] : []));
  const all = [...draftOf(chat).files, ...added];
  if (all.length > kMaxFiles) problems.push(`A message takes at most ${kMaxFiles} files.`);
  setDraft(chat, { files: all.slice(0, kMaxFiles) });
  if (problems.length > 0) notify(problems.join(' '));
}

async function readText(file: File): Promise<Attachment> {
  if (file.size > kMaxBytes) throw new Error(`${file.name} has ${bytes(file.size)}; a file may have at most ${bytes(kMaxBytes)}.`);
  const raw = await file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} cannot be read.`);
  });
  const text = decode(raw);
  if (text === undefined) throw new Error(`${file.name} is not text in UTF-8 or UTF-16; only text can be attached.`);
  if (text.trim() === '') throw new Error(`${file.name} is empty.`);
  return { name: file.name, text };
}

// UTF-16 only with its byte order mark: without one nearly any bytes would be taken for it.
function decode(raw: ArrayBuffer): string | undefined {
  const [first, second] = new Uint8Array(raw, 0, Math.min(2, raw.byteLength));
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(raw);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

// The files of a drop or a paste; a folder is none.
export function filesOf(transfer: DataTransfer | null): File[] {
  return Array.from(transfer?.files ?? []);
}

export const carriesFiles = (transfer: DataTransfer | null): boolean => transfer?.types.includes('Files') ?? false;
