import { setDraft } from '../drafts.ts';
import { short } from '../format.ts';
import { activeSettings, loadModels, modelOf, useStore } from '../store.ts';
import { Failure } from './Failure.tsx';

const kExamples = [
  'Explain how a hash table works, with a short example in Python.',
  'Compare TCP, UDP and QUIC in a table.',
  'Rewrite this more politely: "Send me the numbers today."',
  'Plan three simple dinners that share ingredients.',
];

// What realizar-tiny was trained on, and answers right.
const kToyExamples = ['What is the capital of France?', 'What is 7 plus 5?', 'What is the opposite of hot?', 'Tell me a short story.'];
const kToyParams = 20e6; // no model below this many parameters answers the other examples

export function Welcome() {
  const model = useStore((state) => modelOf(state, activeSettings(state)));
  const error = useStore((state) => state.modelsError);
  const isToy = model?.n_params !== undefined && model.n_params < kToyParams;
  const choose = (text: string) => {
    setDraft(null, { text });
    document.querySelector<HTMLElement>('.composer textarea')?.focus();
  };
  return (
    <div class="scroll welcome">
      <div class="column">
        <h1>What is on your mind?</h1>
        {error ? (
          <Failure error={error} actions={[{ label: 'Retry', run: () => void loadModels() }]} />
        ) : (
          <p class="muted">{model ? `${model.id} answers, on this server. Chats stay in this browser.` : 'Chats stay in this browser.'}</p>
        )}
        {isToy && (
          <p class="muted">
            This model is a toy of {short(model.n_params!)} parameters, which knows little beyond the questions below. Start the server with another model for real
            answers: <code>realizar serve MODEL.gguf</code>
          </p>
        )}
        <ul class="examples">
          {(isToy ? kToyExamples : kExamples).map((text) => (
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
