import { spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';

import { terminalHold } from '../wire/index.ts';
import { failWith } from './outcome.ts';

/** How a program in the operator's terminal ended. */
export interface TerminalEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Runs `command` in the terminal that this process was given, and waits for it. `quiet`: what it writes goes to stderr, because
 * stdout is for one JSON document. The program ends with this process, which holds the other end of its fourth
 * descriptor. A terminal that was left raw by a program that was killed is made usable again.
 */
export async function runTerminal(command: readonly string[], options: { quiet: boolean }): Promise<TerminalEnd> {
  const [program = '', ...args] = command;
  for (const path of command.filter((word) => word.startsWith('/'))) demandReadable(path);
  // Interrupts are meant for the program inside, never for this one, which has to say afterwards where things stand.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    const stdio: StdioOptions = ['inherit', options.quiet ? 2 : 'inherit', 'inherit', 'pipe'];
    const child = spawn(program, args, {
      stdio,
      env: { ...process.env, [terminalHold.variable]: `${terminalHold.fd}` },
    });
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
  } finally {
    process.off('SIGINT', ignore);
    if (process.stdin.isTTY) spawnSync('stty', ['sane'], { stdio: 'inherit' });
  }
}

function demandReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw failWith(
      'not-permitted',
      'terminal_elsewhere',
      `${path} cannot be read here: a terminal opens on the server's machine only, as the server's user. --print shows the command to run there.`,
    );
  }
}
