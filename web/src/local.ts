// Small values that this browser keeps for the page.
const kPrefix = 'realizar.';

// null where nothing was kept, or something that is no JSON.
export function readLocal(name: string): any {
  try {
    return JSON.parse(localStorage.getItem(kPrefix + name) ?? 'null');
  } catch {
    return null;
  }
}

// undefined removes the value. Returns whether the browser took it.
export function writeLocal(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(kPrefix + name);
    else localStorage.setItem(kPrefix + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function localNames(): string[] {
  try {
    return Object.keys(localStorage).flatMap((name) => (name.startsWith(kPrefix) ? [name.slice(kPrefix.length)] : []));
  } catch {
    return [];
  }
}
