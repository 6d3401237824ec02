import type { Command } from 'commander';

import type { SessionView, StoppedAllView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { failWith, type Outcome } from '../outcome.ts';
import { withKey } from '../options.ts';
import { counted, withNotice } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  withKey(
    command
      .argument('[session]', 'Work key or id of the session')
      .argument('[reason]', 'Why')
      .option('--all', 'Stop everything: dispatch, landing, outbox and every process, within 5 s')
      .option('--go-on', 'Undo the halt of an earlier "stop --all"'),
  );
  context.action(command, async ({ args, options }) => {
    if (options.goOn) return goOn(context, options);
    if (options.all) return stopAll(context, args.join(' ') || undefined, options);
    const [session, reason] = args;
    if (session === undefined) throw failWith('invalid', 'usage', 'Name a session, or use --all.');
    const path = `/api/sessions/${encodeURIComponent(session)}/stop`;
    const body = reason === undefined ? {} : { reason };
    const stopped = await context.change<SessionView>('PUT', path, body, options);
    return { json: stopped, text: withNotice(`${stopped.workKey}: ${stopped.state}`, stopped.notice) };
  });
}

async function stopAll(context: CliContext, reason: string | undefined, options: object): Promise<Outcome> {
  const body = reason === undefined ? {} : { reason };
  const done = await context.change<StoppedAllView>('PUT', '/api/halt', body, options);
  const lines = done.stopped.map(
    (one) => `${one.workKey}: stopped${one.savedRefs.length > 0 ? `, work saved in ${one.savedRefs.join(', ')}` : ''}`,
  );
  const head = `${counted(done.stopped.length, 'session')} stopped in ${(done.durationMs / 1000).toFixed(1)} s. Nothing is dispatched, landed or sent until "chantier stop --go-on".`;
  return { json: done, text: [head, ...lines].join('\n') };
}

async function goOn(context: CliContext, options: object): Promise<Outcome> {
  const done = await context.change<{ halted: boolean }>('DELETE', '/api/halt', {}, options);
  return { json: done, text: 'Dispatch, landing and outbox go on.' };
}
