import { createRequire } from 'node:module';

import type * as NodePty from '@lydell/node-pty';

import { clampSize } from '../frames.ts';
import { openScreen } from '../screen.ts';
import { runHost } from './run-host.ts';

/**
 * The process that owns the PTY of one program (ADR 0030): `node main.ts <module> <cols> <rows> -- PROGRAM ARGUMENTS`. It is
 * what the session's wrapper starts, inside the sandbox, with in.ndjson as its stdin and the journal as its stdout; it knows
 * no server and ends when its program has.
 */
async function main(): Promise<void> {
  const [module = '', cols, rows, dashes, program, ...args] = process.argv.slice(2);
  if (dashes !== '--' || program === undefined)
    throw new Error('usage: pty-host MODULE COLS ROWS -- PROGRAM ARGUMENTS');
  process.title = 'chantier-pty';
  const { spawn } = createRequire(import.meta.url)(module) as typeof NodePty;
  const size = clampSize({ cols: Number(cols), rows: Number(rows) });
  const code = await runHost({
    screen: await openScreen(size),
    start: () =>
      spawn(program, args, {
        name: 'xterm-256color',
        ...size,
        cwd: process.cwd(),
        env: environment(),
        encoding: 'utf8',
      }),
    input: process.stdin,
    output: process.stdout,
  });
  process.exit(code);
}

/** The session's environment, with a locale in which no glyph is lost whatever it says (field case 52). */
function environment(): Record<string, string> {
  const { COLUMNS: _columns, LINES: _lines, ...env } = process.env as Record<string, string>;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  if (/utf-?8/i.test(locale)) return env;
  const { LC_ALL: _all, LC_CTYPE: _type, ...rest } = env;
  return { ...rest, LANG: 'C.UTF-8' };
}

main().catch((error: unknown) => {
  process.stderr.write(`chantier-pty: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(70);
});
