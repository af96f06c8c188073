// The routes of models as the real server has them, over a list that a test changes. Downloads go as far as a test says.
const kGb = 1e9;

const details = (more = {}) => ({
  file_bytes: 1.8 * kGb, needed_bytes: 2.4 * kGb, architecture: 'qwen3', quantization: 'Q8_0', n_params: 1_720_000_000, n_ctx_train: 40_960,
  capabilities: ['completion', 'tools', 'thinking'], may_delete: true, ...more,
});

export const kLibrary = [
  { id: 'qwen3:1.7b', state: 'ready', loaded: true, context_length: 8192, weight_bytes: 1.8 * kGb, kv_bytes: 0.5 * kGb, scratch_bytes: 0.1 * kGb, n_params: 1_720_000_000, details: details() },
  { id: 'qwen2.5-coder:7b', state: 'unloaded', loaded: false,
    details: details({ file_bytes: 4.7 * kGb, needed_bytes: 5.6 * kGb, architecture: 'qwen2', quantization: 'Q4_K_M', n_params: 7_620_000_000, n_ctx_train: 32_768, capabilities: ['completion', 'tools', 'insert'] }) },
  { id: 'hf:unsloth/gemma-3-27b-it-GGUF', state: 'unloaded', loaded: false,
    details: details({ file_bytes: 16.5 * kGb, needed_bytes: 21 * kGb, architecture: 'gemma3', quantization: 'Q4_K_M', n_params: 27_000_000_000, n_ctx_train: 131_072, capabilities: ['completion'] }) },
  { id: 'nomic-embed-text', state: 'unloaded', loaded: false,
    details: details({ file_bytes: 0.274 * kGb, needed_bytes: 0.31 * kGb, architecture: 'nomic-bert', quantization: 'F16', n_params: 137_000_000, n_ctx_train: 2048, capabilities: ['embedding'] }) },
];

export const kAdmin = { may_load: true, may_download: true, lacks: '' };
export const kHits = [
  { name: 'qwen3:8b', stands_for: 'hf:Qwen/Qwen3-8B-GGUF:Q4_K_M', parameters: 8_000_000_000, downloads: 1_234_567 },
  { name: 'hf:maker/Qwen3-8B-GGUF', parameters: 8_190_000_000, downloads: 98_765 },
];
export const kChoices = [
  { name: 'hf:maker/Qwen3-8B-GGUF:Q8_0', bytes: 8.7 * kGb, is_usual: false },
  { name: 'hf:maker/Qwen3-8B-GGUF:Q4_K_M', bytes: 5.03 * kGb, is_usual: true },
  { name: 'hf:maker/Qwen3-8B-GGUF:BF16', bytes: 16.4 * kGb, is_usual: false },
];

export class ScriptedModels {
  listeners = new Set();
  asked = []; // [method, path, body] of what changes something or asks a hub
  refusal = null; // [status, message] of the next of these

  constructor({ models = kLibrary, rights = kAdmin, hits = kHits, choices = kChoices, note } = {}) {
    Object.assign(this, { models: structuredClone(models), rights, hits, choices, note });
  }

  find = (id) => this.models.find((model) => model.id === id);

  tell(event) {
    for (const response of this.listeners) response.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  set(id, patch) {
    Object.assign(this.find(id), patch);
    this.tell({ model: id, event: 'model_status', data: { status: { ready: 'loaded' }[patch.state] ?? patch.state } });
  }

  arrive(id, done, total) {
    const status = { value: 'downloading', progress: { 'a.gguf': { done, total } }, done_bytes: done, total_bytes: total };
    Object.assign(this.find(id), { status });
    this.tell({ model: id, event: 'download_progress', data: status.progress, done_bytes: done, total_bytes: total });
  }

  end(id, error) {
    this.models = this.models.filter((model) => model.id !== id);
    if (!error) this.models.push({ id, state: 'unloaded', loaded: false, details: details() });
    this.tell(error ? { model: id, event: 'download_failed', data: { error } } : { model: id, event: 'download_finished' });
  }

  // Ends all connections of listeners; none can listen until isLost is false again.
  drop() {
    this.isLost = true;
    for (const response of this.listeners) response.destroy();
  }

  list() {
    const memory = [{ name: 'cpu', free_bytes: 11.4 * kGb, total_bytes: 16.6 * kGb }];
    return { object: 'list', data: this.models, server: { ...this.rights, memory, disk_free_bytes: 212 * kGb } };
  }

  // Whether the request is for these routes.
  async handle(request, response, readBody) {
    const { pathname: path, searchParams } = new URL(request.url, 'http://x');
    if (path !== '/v1/models' && !path.startsWith('/v1/models/')) return false;
    const reply = (status, json) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(json));
      return true;
    };
    if (path === '/v1/models/sse') {
      if (this.isLost) return Boolean(response.destroy());
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.flushHeaders();
      this.listeners.add(response);
      response.on('close', () => this.listeners.delete(response));
      return true;
    }
    if (request.method === 'GET') return reply(200, this.list());
    const body = request.method === 'DELETE' ? { model: searchParams.get('model') } : await readBody(request);
    this.asked.push([request.method, path, body]);
    if (this.refusal) {
      const [code, message] = this.refusal;
      this.refusal = null;
      return reply(code, { error: { code, message, type: 'error' } });
    }
    if (path.endsWith('/search')) return reply(200, { models: this.hits, note: this.note });
    if (path.endsWith('/choices')) return reply(200, { models: this.choices });
    this.change(request.method, path, body.model);
    return reply(200, { success: true });
  }

  change(method, path, id) {
    const model = this.find(id);
    if (method === 'DELETE') this.models = this.models.filter((each) => each !== model);
    else if (path === '/v1/models') this.models.push({ id, state: 'downloading', loaded: false, status: { value: 'downloading', progress: {}, done_bytes: 0, total_bytes: 0 } });
    else if (path.endsWith('/load')) this.set(id, { state: 'loading', progress: 0 });
    else if (model.state === 'downloading') this.end(id, 'cancelled');
    else this.set(id, { state: 'unloaded', loaded: false });
  }
}
