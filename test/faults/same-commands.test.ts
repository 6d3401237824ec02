import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { watchMachine } from '../../src/app/dispatch/watch-machine.ts';
import { operatorSocketOf } from '../../src/config/index.ts';
import type { SessionView } from '../../src/wire/index.ts';
import { openWorld, type World } from '../app/world.ts';
import { sendHttp } from '../e2e/http.ts';

const passphrase = 'correct horse battery';

/** One surface: a command with its arguments, and what came back. */
type Surface = (command: string, session: string, words?: string) => Promise<Record<string, unknown>>;

function overHttp(world: World): Surface {
  const { paths } = world.ctx;
  const socket = operatorSocketOf(paths.home)!;
  const token = readFileSync(paths.operatorToken, 'utf8').trim();
  const send = async (method: string, path: string, body?: unknown, headers = {}) =>
    (await sendHttp({ socket, token, method, path, body, headers })).body as Record<string, unknown>;
  return async (command, session, words) => {
    const at = `/api/sessions/${encodeURIComponent(session)}`;
    switch (command) {
      case 'start':
        return send('POST', '/api/sessions', { workKey: session, project: words });
      case 'status':
      case 'escalations':
        return send('GET', `/api/${command}?session=${encodeURIComponent(session)}`);
      case 'respond': {
        const { proof } = await send('POST', '/api/proofs', { passphrase });
        return send('POST', `${at}/answers`, { text: words }, { 'chantier-proof': String(proof) });
      }
      case 'pause':
      case 'stop':
        return send('PUT', `${at}/${command}`, { reason: words });
      case 'resume':
        return send('DELETE', `${at}/pause`, {});
    }
    throw new Error(command);
  };
}

function overCli(world: World): Surface {
  const secret = join(world.folder, 'passphrase');
  writeFileSync(secret, `${passphrase}\n`, { mode: 0o600 });
  return async (command, session, words) => {
    const proof = command === 'respond' ? ['--passphrase-fd', String(openSync(secret, 'r'))] : [];
    const { out, err } = await world.cli([command, session, ...(words ? [words] : []), ...proof, '--json']);
    return JSON.parse(out || err) as Record<string, unknown>;
  };
}

/** Without what is another each time: ids, times, amounts of time, the work's own names. */
function plain(value: unknown): unknown {
  const names: [RegExp, string][] = [
    [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '<id>'],
    [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
    [/\besc-[0-9a-z]+/g, '<question>'],
    [/\bgreet-(mars|moon)[0-9a-z-]*/g, '<work>'],
    [/\bnot-(mars|moon) /g, 'not-<work> '],
    [/("(?:id|decisionId|key|endpointId|decision_id|conversationId|peerId)":)"[^"]+"/g, '$1"<id>"'],
    [/("[A-Za-z_]*(?:Ms|_ms|[pP]id|[tT]okens)":)\d+/g, '$1"<number>"'],
  ];
  return JSON.parse(names.reduce((text, [what, name]) => text.replaceAll(what, name), JSON.stringify(value)));
}

/** The seven on one piece of work, and each of them once more where it is refused. */
async function drive(world: World, surface: Surface, name: string) {
  const run = await world.run(world.checkout(name), `Greet ${name}`, {
    author: [[['ask', 'Which rounding?']], [['hang']]],
  });
  const { ord } = await world.ctx.store.read
    .selectFrom('event')
    .select((eb) => eb.fn.max('ord').as('ord'))
    .executeTakeFirstOrThrow();
  const workKey = `${run.task.project}/${run.task.codename}`;
  const answers: [string, Record<string, unknown>][] = [];
  const say = async (command: string, words?: string, session = workKey) => {
    const answer = await surface(command, session, words);
    answers.push([command, command === 'status' ? { sessions: answer.sessions } : answer]);
  };
  const is = (wanted: (session: SessionView) => boolean) => world.session(run, 'author', wanted);

  await say('start', run.project.codename);
  await is((one) => one.state === 'ESCALATED');
  await say('start', run.project.codename);
  await say('start', 'nowhere', `not-${name} a key`);
  await say('pause', 'too early');
  await say('escalations');
  await say('respond', 'half up');
  await is((one) => one.state === 'RUNNING' && one.openEscalations.length === 0);
  await say('respond', 'once more');
  await say('pause', 'for lunch');
  await is((one) => one.state === 'PAUSED');
  await say('resume');
  await say('resume');
  await is((one) => one.state === 'RUNNING');
  await say('stop', 'enough');
  await say('stop');
  await say('status');
  const rows = await world.ctx.store.read
    .selectFrom('event')
    .select(['kind', 'actor_kind', 'actor_id', 'subject_kind', 'facts'])
    .where('ord', '>', ord)
    .where((eb) =>
      eb.or([eb('kind', 'like', 'command.%'), eb('kind', 'like', 'escalation.%'), eb('kind', '=', 'session.moved')]),
    )
    .orderBy('ord')
    .execute();
  return { answers, events: rows.map((row) => ({ ...row, facts: JSON.parse(row.facts) as Record<string, unknown> })) };
}

test('each of the seven commands gives the same answer and leaves the same events over HTTP and from the command line, refusals included (S-16, CA-06)', async () => {
  // A machine without room: nothing is dispatched by itself, so that each start is ours.
  const full = watchMachine(() => ({ memoryPercent: 100, ioPercent: 100, leastFreeBytes: 2 ** 60 }), '/nonexistent');
  const world = await openWorld({ machine: full });
  const http = await drive(world, overHttp(world), 'mars');
  const cli = await drive(world, overCli(world), 'moon');
  const told = http.answers.map(
    ([command, { state, code, status }]) => `${command}: ${code ?? state ?? status ?? 'shown'}`,
  );
  expect(told).toEqual([
    'start: STARTING',
    'start: already_active',
    'start: work_key_invalid',
    'pause: wrong_state',
    'escalations: shown',
    'respond: ANSWERED',
    'respond: no_active_escalation',
    'pause: PAUSED',
    'resume: RUNNING',
    'resume: wrong_state',
    'stop: ABORTED',
    'stop: wrong_state',
    'status: shown',
  ]);
  expect(http.events.filter(({ kind }) => kind.startsWith('command.'))).toHaveLength(12);
  expect(plain(cli)).toEqual(plain(http));
});
