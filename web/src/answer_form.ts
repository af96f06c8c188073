// Fields of the server's API for the form of an answer and for its samplers, from the settings.
import type { Settings } from './conversation.ts';

export function formFields({ form, schema, grammar, samplers }: Settings): Record<string, unknown> {
  return {
    ...(form === 'json' && { json_schema: { type: 'object' } }),
    ...(form === 'schema' && schema && { json_schema: JSON.parse(schema) }),
    ...(form === 'grammar' && grammar && { grammar }),
    ...(samplers && samplers.length > 0 && { samplers }),
  };
}

// "top_k, temperature" or one a line.
export const samplerNames = (text: string): string[] => text.split(/[\s,;]+/).filter((name) => name !== '');
