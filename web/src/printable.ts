// Text from outside as a person may read it and decide by it. What is not seen, or changes the direction of what is, is
// spelled out: the characters of the table that the program's terminal has too.
import table from '../../src/base/unseen_chars.txt';

const ranges = [...table.matchAll(/^(UNSEEN|IN_PROSE)\(0x([0-9a-f]+), 0x([0-9a-f]+)\)/gm)];

// Line breaks and tabs stay. Half of a surrogate pair is no character.
function pattern(kinds: string[]): RegExp {
  const listed = ranges.filter(([, kind]) => kinds.includes(kind!)).map(([, , first, last]) => `\\u{${first}}-\\u{${last}}`);
  return new RegExp(`(?![\\n\\t])[${listed.join('')}]|\\p{Cs}`, 'gu');
}

const kUnseen = pattern(['UNSEEN', 'IN_PROSE']);
const kUnseenInProse = pattern(['UNSEEN']);

const spelled = (char: string): string => `\\u{${char.codePointAt(0)!.toString(16)}}`;

export function printable(text: string): string {
  return text.replace(kUnseen, spelled);
}

// The text of an answer: what scripts, emoji and formulas need stays as it is.
export function printableProse(text: string): string {
  return text.replace(kUnseenInProse, spelled);
}
