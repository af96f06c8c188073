// Files that the user drops, pastes or chooses. They are read here and go nowhere but into the prompt.
import type { Attachment } from './conversation.ts';
import { draftOf, setDraft } from './drafts.ts';
import { bytes } from './format.ts';
import { pdfText } from './pdf.ts';
import { getState, notify, setState } from './store.ts';
import { words } from './words.ts';

const kMaxBytes = 1 << 20; // some 300,000 tokens: more than nearly every model's context
const kMaxPdfBytes = 64 << 20; // mostly pictures
const kMaxFiles = 20;

// Adds files to what is being written in the chat on show.
export async function attach(files: Iterable<File>): Promise<void> {
  const chat = getState().activeId;
  setState({ notice: null });
  const read = await Promise.allSettled(Array.from(files, readText));
  const added = read.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const problems = read.flatMap((each) => (each.status === 'rejected' ? [String(each.reason?.message ?? each.reason)] : []));
  const all = [...draftOf(chat).files, ...added];
  if (all.length > kMaxFiles) problems.push(words.files.tooMany(kMaxFiles));
  setDraft(chat, { files: all.slice(0, kMaxFiles) });
  if (problems.length > 0) notify(problems.join(' '));
}

async function readText(file: File): Promise<Attachment> {
  const mostBytes = isPdf(file) ? kMaxPdfBytes : kMaxBytes;
  if (file.size > mostBytes) throw new Error(words.files.tooLarge(file.name, bytes(file.size), bytes(mostBytes)));
  const raw = await file.arrayBuffer().catch(() => {
    throw new Error(words.files.unreadable(file.name));
  });
  if (isPdf(file)) return { name: file.name, text: await textOfPdf(file.name, raw) };
  const text = decode(raw);
  if (text === undefined) throw new Error(words.files.notText(file.name));
  if (text.trim() === '') throw new Error(words.files.empty(file.name));
  return { name: file.name, text };
}

const isPdf = ({ name, type }: File): boolean => type === 'application/pdf' || /\.pdf$/i.test(name);

async function textOfPdf(name: string, raw: ArrayBuffer): Promise<string> {
  notify(words.composer.reading(name));
  const text = await pdfText(raw, kMaxBytes).catch((error) => {
    throw new Error(words.files.badPdf(name, error instanceof Error ? error.message : String(error)));
  });
  setState({ notice: null });
  if (text.trim() === '') throw new Error(words.files.noPdfText(name));
  if (text.length > kMaxBytes) throw new Error(words.files.tooLarge(name, bytes(text.length), bytes(kMaxBytes)));
  return text;
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
