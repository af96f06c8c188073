import { useEffect, useState } from 'preact/hooks';

// The text of a field while it is typed, which is not yet `value`: a render in between must not take it away.
export function useTyped(value: string) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const onInput = (event: { currentTarget: { value: string } }) => setTyped(event.currentTarget.value);
  return { value: typed, onInput };
}
