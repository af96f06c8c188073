// The text of PDF files: pdf.js, loaded when one is attached.
import { getDocument, PDFWorker } from 'pdfjs-dist/legacy/build/pdf.min.mjs';

// Pages in order, with a blank line between them. `port` is pdf.js's worker. Throws on what is no PDF, or asks for a
// password.
export async function textOf(bytes: ArrayBuffer, port: Worker, maxChars: number): Promise<string> {
  const task = getDocument({ data: bytes, worker: PDFWorker.create({ port }), useWorkerFetch: false });
  try {
    const pdf = await task.promise;
    const pages: string[] = [];
    let nChars = 0;
    for (let nth = 1; nth <= pdf.numPages && nChars <= maxChars; nth += 1) {
      const page = await pdf.getPage(nth);
      const text = lines((await page.getTextContent()).items);
      page.cleanup();
      nChars += text.length;
      pages.push(text);
    }
    return pages.filter((text) => text !== '').join('\n\n');
  } finally {
    await task.destroy();
  }
}

function lines(items: object[]): string {
  return items.map((item) => item as { str?: string; hasEOL?: boolean }).map(({ str = '', hasEOL }) => str + (hasEOL ? '\n' : '')).join('').trim();
}
