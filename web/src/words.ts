// The page's words, in the language of its user. English is in the page; another language is a file in languages/, which
// is a part of the page.
import en from './languages/en.ts';
import { readLocal, writeLocal } from './local.ts';

export type Words = typeof en;

const kLanguages: Record<string, () => Promise<{ default: Words }>> = {
  de: () => import('./languages/de.ts'),
};
export const kLanguageNames: Record<string, string> = { en: 'English', de: 'Deutsch' };

export let words: Words = en;

// The one that was chosen here, else the first that the browser asks for and the page has.
function wanted(): string {
  const chosen = readLocal('language');
  const asked = [chosen, ...navigator.languages].map((tag) => String(tag).slice(0, 2).toLowerCase());
  return asked.find((language) => language in kLanguageNames) ?? 'en';
}

// Call it before the page is shown. English stands in where a file cannot be loaded.
export async function loadWords(): Promise<void> {
  const load = kLanguages[wanted()];
  if (load) words = await load().then((file) => file.default, () => en);
  document.documentElement.lang = words.language;
}

export const chosenLanguage = (): string => String(readLocal('language') ?? '');

// '' is the browser's. The page begins anew, so that nothing is left in the language before.
export function chooseLanguage(language: string): void {
  writeLocal('language', language || undefined);
  location.reload();
}
