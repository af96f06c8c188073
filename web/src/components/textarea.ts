// Grows a text area with its text; the style sheet sets the limit.
export function fit(area: HTMLTextAreaElement): void {
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight + 2}px`;
}

// Enter without Shift, and not the Enter that ends a composition (Japanese and other input methods).
export const enterSends = (event: KeyboardEvent): boolean => event.key === 'Enter' && !event.shiftKey && !event.isComposing;
