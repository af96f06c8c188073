// A browser may end the connections of a page before the page itself, when it is loaded again or left: Firefox does.
const kMostMs = 5_000; // until the page is gone; later it has stayed, as after a link that was a download

let gone: Promise<void> = Promise.resolve();

export function noteLeaving(): void {
  gone = new Promise((resolve) => setTimeout(resolve, kMostMs));
}

// Resolves where the page stays, and never where it goes.
export const whileItStays = (): Promise<void> => gone;
