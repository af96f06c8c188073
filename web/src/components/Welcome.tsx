import { setDraft } from '../drafts.ts';
import { short } from '../format.ts';
import { activeSettings, loadModels, modelOf, setState, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Failure } from './Failure.tsx';

// Questions that realizar-tiny was trained on and answers right, in English only.
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
        <h1>{words.welcome.heading}</h1>
        {error ? (
          <Failure error={error} actions={[{ label: words.common.retry, run: () => void loadModels() }]} />
        ) : (
          <p class="muted">{model ? words.welcome.answers(model.id) : words.welcome.stays}</p>
        )}
        {isToy && (
          <p class="muted">
            {words.welcome.toy(short(model.n_params!))} <code>realizar serve MODEL.gguf</code>
          </p>
        )}
        <ul class="examples">
          {(isToy ? kToyExamples : words.welcome.examples).map((text) => (
            <li key={text}>
              <button type="button" onClick={() => choose(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
        <p class="keys muted">
          <button type="button" class="link" onClick={() => setState({ open: 'shortcuts' })}>
            {words.welcome.shortcuts}
          </button>{' '}
          <kbd>?</kbd>
        </p>
      </div>
    </div>
  );
}
