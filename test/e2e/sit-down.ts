import { createRequire } from 'node:module';

import type * as NodePty from '@lydell/node-pty';

import { findPty, openScreen, type ScreenView } from '../../src/terminal/index.ts';
import { node } from './built-package.ts';
import { entry, type Instance } from './instance.ts';

/** A person at a real terminal, with the shipped program in it. */
export interface Person {
  pid: number;
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  /** What stands on the screen now. */
  screen(): Promise<ScreenView>;
  /** Waits until the screen shows `what`. */
  sees(what: string | RegExp, timeoutMs?: number): Promise<string>;
  /** All that was written to the terminal so far. */
  written(): string;
  /** The exit code, when the program has ended. */
  ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts the verb `argv` of an instance in a terminal of its own; with `inShell` it is typed in a shell that lives on there. */
export async function sitDown(
  instance: Instance,
  argv: readonly string[],
  { inShell = false, cols = 100, rows = 28 }: { inShell?: boolean; cols?: number; rows?: number } = {},
): Promise<Person> {
  const pty = findPty();
  if (!pty.found) throw new Error(pty.why);
  const { spawn } = createRequire(import.meta.url)(pty.module) as typeof NodePty;
  const env = { ...(instance.env as Record<string, string>), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  const size = { cols, rows };
  // Without editing it sets no modes of its own.
  const command = inShell ? ['/bin/bash', '--norc', '--noediting', '-i'] : [node, entry, ...argv];
  const options = { name: 'xterm-256color', ...size, cwd: instance.root, env };
  const program = spawn(command[0]!, command.slice(1), options);
  if (inShell) program.write(`'${[node, entry, ...argv].join("' '")}'\r`);
  const screen = await openScreen(size);
  let written = '';
  let drawn = Promise.resolve();
  program.onData((text) => {
    written += text;
    drawn = drawn.then(() => screen.write(text));
  });
  const view = async (): Promise<ScreenView> => drawn.then(() => screen.view());
  return {
    pid: program.pid,
    type: (keys) => program.write(keys),
    resize(cols, rows) {
      program.resize(cols, rows);
      screen.resize({ cols, rows });
    },
    screen: view,
    sees: (what, timeoutMs) =>
      instance.until(
        `the terminal to show ${what}`,
        async () => {
          const text = (await view()).text.join('\n');
          return (typeof what === 'string' ? text.includes(what) : what.test(text)) && text;
        },
        timeoutMs,
      ),
    written: () => written,
    ended: new Promise((resolve) => program.onExit(({ exitCode }) => resolve(exitCode))),
    kill: (signal) => program.kill(signal),
  };
}
