// Servers made with the protocol's own SDK: its first major version with and without sessions, with tools that use the
// protocol's features; and its second one, which supports revision 2026-07-28.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { EmptyResultSchema, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer as NewServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

// The SDK's example of a store sorts events of the same millisecond by random names, and so replays only some.
class EventStore {
  #events = [];

  async storeEvent(streamId, message) {
    return String(this.#events.push({ streamId, message }));
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.#events[lastEventId - 1];
    for (const [i, event] of this.#events.entries()) {
      if (i >= lastEventId && event.streamId === streamId) await send(String(i + 1), event.message);
    }
    return streamId;
  }
}

const text = (value) => ({ content: [{ type: 'text', text: value }] });

function toolsOf(log) {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('add', { description: 'Adds two numbers.', inputSchema: { a: z.number().int(), b: z.number().int() }, outputSchema: { sum: z.number() } }, ({ a, b }) => ({
    ...text(String(a + b)), structuredContent: { sum: a + b },
  }));
  server.registerTool('word', { inputSchema: { word: z.enum(['Paris']) } }, ({ word }) => text(`The word is ${word}.`));
  server.registerTool('fail', {}, () => { throw new Error('the disk is full'); });
  server.registerTool('picture', {}, () => ({
    content: [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///notes', text: 'inner text' } },
      { type: 'resource_link', uri: 'file:///other', name: 'other' },
    ],
  }));
  server.registerTool('chatty', {}, async (extra) => {
    await server.sendLoggingMessage({ level: 'info', data: 'working' }, extra.sessionId);
    await extra.sendRequest({ method: 'ping' }, EmptyResultSchema);
    const refusal = await extra.sendRequest({ method: 'roots/list' }, EmptyResultSchema).catch((error) => error.message);
    return text(`pinged; ${refusal}`);
  });
  server.registerTool('polled', {}, async (extra) => {
    log.canPoll = extra.closeSSEStream !== undefined;
    extra.closeSSEStream?.();
    return text('after the break');
  });
  server.registerTool('wait', {}, async (extra) => {
    log.waiting = true;
    await new Promise((resolve) => extra.signal.addEventListener('abort', resolve));
    log.cancelled = true;
    return text('never told');
  });
  return server;
}

async function readBody(request) {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  return body === '' ? undefined : JSON.parse(body);
}

// kind: 'sessions', 'json' (no streams) or 'stateless'.
export async function startSdkServer(kind) {
  const log = { versions: new Set(), deleted: 0 };
  const sessions = new Map();
  const open = async () => {
    const transport = new StreamableHTTPServerTransport(
      kind === 'stateless'
        ? { sessionIdGenerator: undefined }
        : {
            sessionIdGenerator: randomUUID, enableJsonResponse: kind === 'json', retryInterval: 10,
            ...(kind === 'sessions' && { eventStore: new EventStore() }),
            onsessioninitialized: (id) => void sessions.set(id, transport),
            onsessionclosed: () => void (log.deleted += 1),
          },
    );
    await toolsOf(log).connect(transport);
    return transport;
  };
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    log.versions.add(request.headers['mcp-protocol-version']);
    const known = sessions.get(request.headers['mcp-session-id']);
    if (!known && kind !== 'stateless' && !isInitializeRequest(body)) {
      response.writeHead(404).end();
      return;
    }
    await (known ?? (await open())).handleRequest(request, response, body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, log, sessions, close };
}

// legacy: 'reject' (only revision 2026-07-28) or 'stateless' (older ones too).
export async function startNewServer(legacy) {
  const handler = createMcpHandler(() => {
    const server = new NewServer({ name: 'sdk', version: '2.0.0' });
    server.registerTool('word', { inputSchema: z.object({ word: z.enum(['Paris']) }) }, ({ word }) => text(`The word is ${word}.`));
    return server;
  }, { legacy });
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const asked = new Request(`http://${request.headers.host}${request.url}`, { method: request.method, headers: request.headers, body: JSON.stringify(body) });
    const answer = await handler.fetch(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(await answer.text());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close };
}
