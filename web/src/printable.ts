// Text from outside as a person may decide by it: what cannot be seen, or changes the direction of what can, is spelled out.
const kHidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/gu;

export function printable(text: string): string {
  return text.replace(kHidden, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
