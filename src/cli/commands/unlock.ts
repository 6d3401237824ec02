import type { Command } from 'commander';

import type { UnlockView } from '../../wire/index.ts';
import { refuseInsideAgent } from '../autostart.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { shortTime } from '../show.ts';
import { removeUnlock, unlockFileOf, writeUnlock } from '../unlock-file.ts';

export function define(command: Command, context: CliContext): void {
  withProof(command).option('--end', 'Close every open terminal');
  context.action(command, async ({ options }) => {
    refuseInsideAgent(context.io.env);
    const file = unlockFileOf(context.paths.home, context.io.env);
    await context.ensureServer();
    if (options.end) {
      removeUnlock(file);
      const ended = await context.client().send<{ ended: number }>('DELETE', '/api/unlocks', { body: {} });
      return { json: ended, text: 'Closed: decisions ask for the passphrase again.' };
    }
    const body = {
      passphrase: await context.passphrase(options),
      ...(options.operator === undefined ? {} : { operator: options.operator }),
    };
    const view = await context.client().send<UnlockView>('POST', '/api/unlocks', { body });
    writeUnlock(file, view.token);
    // The token stays out of what is printed: terminals and logs keep that.
    const json = { expiresAt: view.expiresAt, idleMs: view.idleMs };
    return {
      json,
      text:
        `Decisions ask for no passphrase until ${shortTime(view.expiresAt)}, or until none was made for ${view.idleMs / 60_000} min, ` +
        'in every terminal of yours. "chantier unlock --end" closes it.',
    };
  });
}
