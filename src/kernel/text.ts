/** Control characters but newline and tab, unassigned, private use, lone surrogates, bidi overrides and isolates (S-75). */
const forbiddenInText = /[^\P{Cc}\n\t]|[\p{Cn}\p{Co}\p{Cs}\u202A-\u202E\u2066-\u2069]/u;
const forbiddenInId = /\p{C}/u;

/** Why `text` is not acceptable as free text of `min` to `max` characters, or `undefined` when it is. Source: S-75, S7.1. */
export function textFault(text: string, bounds: { min?: number; max: number }): string | undefined {
  const length = [...text].length;
  if (length < (bounds.min ?? 0)) return bounds.min === 1 ? 'is empty' : `is shorter than ${bounds.min} characters`;
  if (length > bounds.max) return `has ${length} characters, at most ${bounds.max} are allowed`;
  if (!text.isWellFormed() || forbiddenInText.test(text))
    return 'holds a control, private-use, unassigned or direction-changing character';
  return undefined;
}

/** As `textFault`, for ids: no character of `\p{C}` at all (S-75), 1 to `max` (default 128) characters. */
export function idFault(text: string, max = 128): string | undefined {
  if (text.length === 0) return 'is empty';
  if (text.length > max) return `has ${text.length} characters, at most ${max} are allowed`;
  return forbiddenInId.test(text) ? 'holds a control or invisible character' : undefined;
}

/** Makes an untrusted value safe for one log line: control and invisible characters escaped, cut at `max` (S7.4: 200). */
export function forLog(value: unknown, max = 200): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const visible = text.replace(/\p{C}|[\u2066-\u2069]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  return visible.length > max ? `${visible.slice(0, max)}…` : visible;
}

/** The idempotency key's form (S7.1). */
export const idempotencyKeyPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Codenames of projects, jobs and agents: 4 to 64 characters (L-33a). */
export const codenamePattern = /^[a-z0-9][a-z0-9-]{2,62}[a-z0-9]$/;
