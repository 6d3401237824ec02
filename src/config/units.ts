/** Factors of a duration's unit, in milliseconds. */
const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** Factors of a size's unit, in bytes. */
const sizeUnits = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, kB: 1000, MB: 1e6, GB: 1e9 } as const;

/** `10m` → 600 000: a duration carries its unit (`ms s m h d`); `undefined` when the text is none. */
export function parseDuration(text: string): number | undefined {
  return parseWithUnit(text, durationUnits);
}

/** `64MiB` → 67 108 864 bytes; units `B KiB MiB GiB kB MB GB`; `undefined` when the text is none. */
export function parseSize(text: string): number | undefined {
  return parseWithUnit(text, sizeUnits);
}

function parseWithUnit(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)([A-Za-z]{1,3})$/.exec(text.trim());
  const factor = match?.[2] === undefined ? undefined : units[match[2]];
  if (!match || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(Math.round(value)) ? Math.round(value) : undefined;
}

/** The shortest exact text of a duration: 600 000 → `10m`. */
export function formatDuration(ms: number): string {
  return formatWithUnit(ms, [
    ['d', durationUnits.d],
    ['h', durationUnits.h],
    ['m', durationUnits.m],
    ['s', durationUnits.s],
    ['ms', 1],
  ]);
}

/** The shortest exact text of a size: 67 108 864 → `64MiB`. */
export function formatSize(bytes: number): string {
  return formatWithUnit(bytes, [
    ['GiB', sizeUnits.GiB],
    ['MiB', sizeUnits.MiB],
    ['KiB', sizeUnits.KiB],
    ['B', 1],
  ]);
}

function formatWithUnit(value: number, units: readonly (readonly [string, number])[]): string {
  for (const [unit, factor] of units) if (value % factor === 0 && value >= factor) return `${value / factor}${unit}`;
  return `${value}${units.at(-1)?.[0] ?? ''}`;
}
