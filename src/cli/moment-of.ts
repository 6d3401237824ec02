import { parseDuration } from '../config/index.ts';
import { failWith } from './outcome.ts';

/** A duration before now, or a moment, as RFC 3339; throws exit 2 for what is neither. */
export function momentOf(when: string): string {
  const ago = parseDuration(when);
  const at = ago === undefined ? Date.parse(when) : Date.now() - ago;
  if (!Number.isFinite(at))
    throw failWith(
      'invalid',
      'bad_time',
      `"${when}" is neither a duration like 30m nor a time like 2026-01-31T12:00:00Z.`,
    );
  return new Date(at).toISOString();
}
