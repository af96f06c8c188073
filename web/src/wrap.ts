// Whether long lines of code wrap: one choice for all blocks, which this browser keeps.
import { useEffect, useState } from 'preact/hooks';
import { readLocal, writeLocal } from './local.ts';

const kName = 'wrapCode';
const listeners = new Set<(wraps: boolean) => void>();
let wrapsNow = readLocal(kName) === true;

export function useWrap(): [boolean, (wraps: boolean) => void] {
  const [wraps, setWraps] = useState(wrapsNow);
  useEffect(() => {
    listeners.add(setWraps);
    return () => void listeners.delete(setWraps);
  }, []);
  return [wraps, choose];
}

function choose(wraps: boolean): void {
  wrapsNow = wraps;
  writeLocal(kName, wraps || undefined);
  listeners.forEach((listener) => listener(wraps));
}
