// Measures llama.cpp, as node-llama-cpp ships it, on one GGUF file: one repetition, one JSON line on stdout.
// usage: node llama_cpp.mjs MODEL.gguf PROMPT_TOKENS GEN_TOKENS THREADS [DEPTH]
import {getLlama} from "node-llama-cpp";

const [modelPath, nPrompt, nGen, nThreads, nDepth] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const depth = nDepth || 0;

const llama = await getLlama({gpu: false, build: "never", maxThreads: nThreads, logLevel: "error"});
const loadStart = performance.now();
const model = await llama.loadModel({modelPath, gpuLayers: 0});
const loadMs = performance.now() - loadStart;
const context = await model.createContext({
    contextSize: depth + nPrompt + nGen + 64, batchSize: 512, threads: nThreads, sequences: 1
});
const sequence = context.getSequence();

// Token ids that repeat nothing: a multiplicative hash over the middle of the vocabulary.
let salt = 0;
const madeUp = (n) => Array.from({length: n}, () => 200 + (Math.imul(++salt, 2654435761) >>> 8) % 1000);

async function prefill(n) {
    const start = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(madeUp(n));
    return n / (performance.now() - start) * 1e3;
}

async function decode(n) {
    const start = performance.now();
    let done = 0;
    for await (const _ of sequence.evaluate(madeUp(1), {temperature: 0, yieldEogToken: true})) {
        if (++done >= n) break;
    }
    return done / (performance.now() - start) * 1e3;
}

await prefill(Math.min(64, nPrompt));  // warms up: pages in, kernels chosen
await sequence.clearHistory();
if (depth > 0) await prefill(depth);
const prefillTokS = await prefill(nPrompt);
const decodeTokS = nGen > 0 ? await decode(nGen) : 0;
console.log(JSON.stringify({release: llama.llamaCppRelease, load_ms: loadMs, prefill_tok_s: prefillTokS,
    decode_tok_s: decodeTokS}));
await context.dispose();
await model.dispose();
process.exit(0);
