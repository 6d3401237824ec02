/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a string, else `undefined`. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A finite number, else `undefined`. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The objects of a list; everything else counts as none. */
export function recordsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** How a NUL or half of a pair is written in JSON; what is not escaped cannot be either once it was decoded. */
const unstorable = /\\u(?:0000|d[89a-f])/i;

/**
 * JSON of an agent. Strings that nothing can store or sign (half of a pair, where a program cut a text inside a character; NUL)
 * have U+FFFD in their place: such a line must not hold up all that comes after it. Throws where it is no JSON.
 */
export function parseAgentJson(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  return unstorable.test(text) ? storable(value) : value;
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Array.isArray(value)) return value.map(storable);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storable(name), storable(member)]));
}
