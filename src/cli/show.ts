/** Makes texts of agents and repositories harmless for a terminal: control and direction-changing characters become visible, line feeds stay. */
export function visible(text: string): string {
  return text.replace(
    /[^\P{C}\n\t]|[\u2066-\u2069\u202A-\u202E]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
}

/** As `visible`, on one line of at most `max` characters. */
export function oneLine(text: string | null | undefined, max = 100): string {
  const line = visible(text ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return [...line].length > max ? `${[...line].slice(0, max - 1).join('')}…` : line;
}

/** Rows as aligned columns, with a head line. */
export function table(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => String(cell ?? '–')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `12:30:05Z` of today, else the date with it; a dash for none. */
export function shortTime(timestamp: string | null): string {
  return timestamp === null ? '–' : timestamp.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** `1 task`, `2 tasks`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How long until a moment: `2 h 5 min`, `4 min`, `30 s`; `0 s` once it has passed. */
export function timeLeft(timestamp: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(timestamp) - now) / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
}

/** A line, and below it what its reader has to know besides. */
export function withNotice(line: string, notice: string | undefined): string {
  return notice === undefined ? line : `${line}\n${notice}`;
}
