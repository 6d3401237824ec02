import { setTimeout as sleep } from 'node:timers/promises';

import type { Command } from 'commander';

import type { DownView } from '../../wire/index.ts';
import { isReady } from '../autostart.ts';
import { isUnreachable } from '../client.ts';
import type { CliContext } from '../context.ts';
import { failWith, type Outcome } from '../outcome.ts';
import { withKey } from '../options.ts';

/** How long a server may take to end in order. */
const endedWithinMs = 20_000;

export function define(command: Command, context: CliContext): void {
  withKey(command.option('--stop-agents', 'End the agents too'));
  context.action(command, async ({ options }) => {
    const body = { stopAgents: options.stopAgents === true };
    let done: DownView;
    try {
      done = await context.client().send<DownView>('PUT', '/api/instance/shutdown', { body });
    } catch (error) {
      if (isUnreachable(error)) return { json: { running: false }, text: 'No server runs.' };
      throw error;
    }
    await awaitEnd(context);
    return { json: { running: false, ...done }, text: textOf(done) };
  });
}

async function awaitEnd(context: CliContext): Promise<void> {
  const { acquireInstanceLock } = await import('../../store/index.ts');
  const giveUpAt = performance.now() + endedWithinMs;
  while (performance.now() < giveUpAt) {
    if (!(await isReady(context.paths))) {
      const lock = acquireInstanceLock(context.paths);
      if (lock.held) return lock.release();
    }
    await sleep(25);
  }
  throw failWith('still-open', 'server_still_there', `The server did not end within ${endedWithinMs / 1000} s.`);
}

function textOf(done: DownView): string {
  const lines: Outcome['text'][] = ['The server has ended.'];
  if (done.stopped.length > 0) lines.push(`Stopped: ${done.stopped.map((one) => one.workKey).join(', ')}.`);
  if (done.goOn.length > 0)
    lines.push(`These agents go on without it: ${done.goOn.map((one) => one.workKey).join(', ')}.`);
  return lines.join('\n');
}
