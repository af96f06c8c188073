// PDF files: pdf.js and its worker are parts of the page.
import { Part } from './part.ts';

const pdf = new Part(() => import('./parts/pdf.ts'));
let worker: Worker | undefined;

export async function pdfText(bytes: ArrayBuffer, maxChars: number): Promise<string> {
  const part = await pdf.load();
  worker ??= newWorker();
  return part.textOf(bytes, worker, maxChars);
}

// The build puts the worker's address here; the page's policy lets no other text become one.
function newWorker(): Worker {
  const address = PDF_WORKER_ADDRESS;
  const policy = window.trustedTypes?.createPolicy('realizar', { createScriptURL: () => address });
  return new Worker((policy?.createScriptURL('') ?? address) as string, { type: 'module' });
}
