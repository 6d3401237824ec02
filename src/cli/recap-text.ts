import { planText, type RecapView, spendingText } from '../wire/index.ts';
import { oneLine, shortTime } from './show.ts';

/** A terminal as it comes up: what has to fit (design section 7). */
const screen = { columns: 80, rows: 24 };

/**
 * A recap that fits one screen: a heading and its lines for each part, newest last; parts that are longer than their share
 * of the screen are folded to their first lines and a count.
 */
export function recapText(recap: RecapView): string {
  const parts = [
    part(
      'Landed',
      recap.landed.map((one) => `#${one.number} ${one.title} · ${spendingText(one.spending)}`),
    ),
    part(
      'Waiting for you',
      recap.waiting.map((one) => `${one.id} ${one.kind.replaceAll('_', ' ')}: ${one.title}`),
    ),
    part(
      'Failed',
      recap.failed.map((one) => `${one.what} ${one.state}: ${one.why}`),
    ),
    part(
      'Working',
      recap.running.map((one) => `${one.workKey} · ${one.agent} · ${one.state}`),
    ),
  ].filter(({ lines }) => lines.length > 0);
  const head = `Since ${shortTime(recap.since)}: ${counts(recap)}`;
  const tail = [
    `Used: ${spendingText(recap.spending)}`,
    ...recap.plans.slice(0, 2).map(planText),
    `Next: ${recap.next}`,
  ];
  // One line stays free for the prompt of the shell.
  const room = screen.rows - 1 - 1 - tail.length - parts.length;
  const shares = share(
    parts.map(({ lines }) => lines.length),
    room,
  );
  const body = parts.flatMap(({ name, lines }, index) => [`${name}:`, ...fold(lines, shares[index] ?? 1)]);
  return [head, ...body, ...tail].map((line) => oneLineKeepingIndent(line)).join('\n');
}

function part(name: string, lines: string[]): { name: string; lines: string[] } {
  return { name, lines };
}

function counts(recap: RecapView): string {
  return [
    `${recap.landed.length} landed`,
    `${recap.waiting.length} waiting for you`,
    `${recap.failed.length} failed`,
    `${recap.running.length} at work`,
  ].join(', ');
}

/** Lines for each part: short parts get all they need, the rest is divided among the long ones. */
function share(wanted: readonly number[], room: number): number[] {
  const given = wanted.map(() => 0);
  for (let left = room; left > 0; left -= 1) {
    const poorest = wanted
      .map((want, index) => ({ index, has: given[index] ?? 0, want }))
      .filter(({ has, want }) => has < want)
      .toSorted((a, b) => a.has - b.has)[0];
    if (!poorest) break;
    given[poorest.index] = poorest.has + 1;
  }
  return given;
}

function fold(lines: readonly string[], room: number): string[] {
  if (lines.length <= room) return lines.map((line) => `  ${line}`);
  const shown = Math.max(0, room - 1);
  return [...lines.slice(0, shown).map((line) => `  ${line}`), `  … and ${lines.length - shown} more`];
}

function oneLineKeepingIndent(line: string): string {
  const indent = line.startsWith('  ') ? '  ' : '';
  return indent + oneLine(line, screen.columns - indent.length);
}
