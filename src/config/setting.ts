import { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';

/** Who may change a setting while the server runs (design section 4). */
export type SettingChange =
  /** Any operator, by the CLI too. */
  | 'operator'
  /** With an ordinary proof. */
  | 'proof'
  /** It can lower safety: the passphrase is asked for this one change. */
  | 'fresh-proof'
  /** By environment or command line at the next start only. */
  | 'restart-only';

/** What kind of value a setting holds; durations are milliseconds and sizes bytes once parsed. */
export type SettingKind =
  | { type: 'integer'; min: number; max: number }
  | { type: 'duration'; minMs: number; maxMs: number }
  | { type: 'size'; minBytes: number; maxBytes: number }
  | { type: 'flag' }
  | { type: 'choice'; values: readonly string[] }
  | { type: 'text'; pattern: RegExp; form: string };

export type SettingValue = string | number | boolean;

/** One row of the settings table: it gives the parser, `--help`, the docs and `chantier config`. */
export interface Setting {
  env: string | null;
  default: SettingValue;
  kind: SettingKind;
  help: string;
  change: SettingChange;
}

/** Parses what a human or the environment gave; gives the value, or a sentence about what is wrong with it. */
export function parseSetting(setting: Setting, given: SettingValue): { value: SettingValue } | { fault: string } {
  const { kind } = setting;
  const text = String(given).trim();
  switch (kind.type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) && inRange(Number(text), kind.min, kind.max)
        ? { value: Number(text) }
        : { fault: `must be a whole number from ${kind.min} to ${kind.max}` };
    case 'duration': {
      const value = parseDuration(text);
      return value !== undefined && inRange(value, kind.minMs, kind.maxMs)
        ? { value }
        : {
            fault: `must be a duration from ${formatDuration(kind.minMs)} to ${formatDuration(kind.maxMs)}, with its unit (ms, s, m, h, d)`,
          };
    }
    case 'size': {
      const value = parseSize(text);
      return value !== undefined && inRange(value, kind.minBytes, kind.maxBytes)
        ? { value }
        : {
            fault: `must be a size from ${formatSize(kind.minBytes)} to ${formatSize(kind.maxBytes)}, with its unit (B, KiB, MiB, GiB)`,
          };
    }
    case 'flag':
      if (['true', '1', 'on', 'yes'].includes(text)) return { value: true };
      if (['false', '0', 'off', 'no'].includes(text)) return { value: false };
      return { fault: 'must be true or false' };
    case 'choice':
      return kind.values.includes(text) ? { value: text } : { fault: `must be one of ${kind.values.join(', ')}` };
    case 'text':
      return kind.pattern.test(text) ? { value: text } : { fault: `must be ${kind.form}` };
  }
}

/** The value as a human writes it: durations and sizes with their unit. */
export function formatSetting(setting: Setting, value: SettingValue): SettingValue {
  if (setting.kind.type === 'duration' && typeof value === 'number') return formatDuration(value);
  if (setting.kind.type === 'size' && typeof value === 'number') return formatSize(value);
  return value;
}

/** What unit the value carries, or what it may be; for help and docs. */
export function describeKind(kind: SettingKind): string {
  switch (kind.type) {
    case 'integer':
      return `${kind.min} to ${kind.max}`;
    case 'duration':
      return `duration, ${formatDuration(kind.minMs)} to ${formatDuration(kind.maxMs)}`;
    case 'size':
      return `size, ${formatSize(kind.minBytes)} to ${formatSize(kind.maxBytes)}`;
    case 'flag':
      return 'true or false';
    case 'choice':
      return kind.values.join(', ');
    case 'text':
      return kind.form;
  }
}

function inRange(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}
