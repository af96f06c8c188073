import { loadModels, modelOf, activeSettings, useStore } from '../store.ts';

const kExamples = [
  'Explain how a hash table works, with a short example in Python.',
  'Compare TCP, UDP and QUIC in a table.',
  'Rewrite this more politely: "Send me the numbers today."',
  'Plan three simple dinners that share ingredients.',
];

export function Welcome({ choose }: { choose: (text: string) => void }) {
  const model = useStore((state) => modelOf(state, activeSettings(state)));
  const error = useStore((state) => state.modelsError);
  return (
    <div class="scroll welcome">
      <div class="column">
        <h1>What is on your mind?</h1>
        {error ? (
          <div class="failure" role="alert">
            <p>{error}</p>
            <button type="button" onClick={() => void loadModels()}>
              Retry
            </button>
          </div>
        ) : (
          <p class="muted">{model ? `${model.id} answers, on this server. Chats stay in this browser.` : 'Chats stay in this browser.'}</p>
        )}
        <ul class="examples">
          {kExamples.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => choose(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
        <p class="keys muted">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line, <kbd>Esc</kbd> stops, <kbd>Ctrl</kbd> <kbd>K</kbd> opens a new chat
        </p>
      </div>
    </div>
  );
}
