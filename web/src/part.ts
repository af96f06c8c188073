// A part of the page that is loaded when it is first needed. Until then, and where it cannot be loaded, there is none.
import { useEffect, useState } from 'preact/hooks';

export class Part<T> {
  private value: T | undefined;
  private loading: Promise<T> | undefined;

  constructor(private readonly start: () => Promise<T>) {}

  // Starts loading at the first call; a part that failed to load is asked for again at the next one.
  load(): Promise<T> {
    this.loading ??= this.start().then(
      (value) => {
        this.value = value;
        return value;
      },
      (error) => {
        this.loading = undefined;
        throw error;
      },
    );
    return this.loading;
  }

  get(): T | undefined {
    return this.value;
  }

  // The part, for a component that is rendered again once it is there. Loading starts when it is `wanted`.
  use(wanted: boolean): T | undefined {
    const [, setVersion] = useState(0);
    const rendered = this.value; // it may be loaded before the effect runs
    useEffect(() => {
      if (!wanted || rendered) return;
      let isShown = true;
      this.load().then(() => isShown && setVersion((version) => version + 1), () => {}); // without it text is shown plain
      return () => void (isShown = false);
    }, [wanted]);
    return wanted ? rendered : undefined;
  }
}
