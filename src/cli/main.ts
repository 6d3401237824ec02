/** The program `chantier`: one invocation, its exit code. */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { openTerminal } from './open-terminal.ts';
import { hasTerminal } from './passphrase.ts';
import { runCli } from './run-cli.ts';

process.umask(0o077);
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort(signal));
// Someone like `head` may have read enough; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const terminal = process.env.CHANTIER_RUN === undefined ? openTerminal() : undefined;

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: (line) => void process.stdout.write(line),
  drained: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  err: (line) => void process.stderr.write(line),
  readStdin: () => text(process.stdin),
  // Inside an agent nobody sits at a terminal, whatever the agent was given.
  hasTerminal: () => process.env.CHANTIER_RUN === undefined && hasTerminal(),
  signal: interrupt.signal,
  ...(terminal ? { terminal } : {}),
});
