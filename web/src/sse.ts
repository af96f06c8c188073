// Server-sent events (WHATWG HTML, section 9.2): text in pieces of any size in, the `data` of each event out.

const kMaxEventChars = 16 * 1024 * 1024;

export class SseParser {
  private tail = '';
  private data: string[] = [];
  private dataChars = 0;
  private endedInCr = false;

  // Events that `text` completes. An event without its closing blank line is not one, as the standard says.
  push(text: string): string[] {
    const events: string[] = [];
    for (const line of this.lines(text)) {
      if (line === '') this.dispatch(events);
      else this.field(line);
    }
    return events;
  }

  // A CR that ends one piece and an LF that begins the next are one line end.
  private lines(text: string): string[] {
    if (text === '') return [];
    if (this.endedInCr && text[0] === '\n') text = text.slice(1);
    this.endedInCr = text.endsWith('\r');
    const lines = (this.tail + text).split(/\r\n|\n|\r/);
    this.tail = lines.pop()!;
    if (this.tail.length > kMaxEventChars) throw new Error('The server sent a line that is too long.');
    return lines;
  }

  private field(line: string): void {
    const match = /^data(?:: ?|$)/.exec(line);
    if (!match) return;
    this.data.push(line.slice(match[0].length));
    this.dataChars += line.length;
    if (this.dataChars > kMaxEventChars) throw new Error('The server sent an event that is too long.');
  }

  private dispatch(events: string[]): void {
    if (this.data.length > 0) events.push(this.data.join('\n'));
    this.data = [];
    this.dataChars = 0;
  }
}

// Events of a response body. UTF-8 that is cut between two pieces is put together again.
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
