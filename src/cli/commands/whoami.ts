import type { Command } from 'commander';

import type { WhoamiView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { readUnlock, unlockFileOf } from '../unlock-file.ts';

export function define(command: Command, context: CliContext): void {
  context.action(command, async () => {
    await context.ensureServer();
    const proof = readUnlock(unlockFileOf(context.paths.home, context.io.env));
    const who = await context.client().send<WhoamiView>('GET', '/api/whoami', proof === undefined ? {} : { proof });
    const may = who.proof === 'none' ? 'may read and operate, not decide' : 'this terminal is open for decisions';
    const lines = [`${who.principal} (${who.id}): ${may}.`];
    if (!who.hasOperator) lines.push('There is no operator yet: "chantier init".');
    if (!who.sandboxHolds) lines.push('The sandbox does not hold: "no agent can decide" is not promised.');
    return { json: who, text: lines.join('\n') };
  });
}
