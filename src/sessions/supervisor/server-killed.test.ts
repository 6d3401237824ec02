import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect, it, onTestFinished } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { openSqlite } from '../../store/index.ts';
import { answerPermission } from '../permissions.ts';
import type { SessionRow } from '../session-store.ts';
import { operator } from '../testing.ts';
import { readTranscript } from '../transcript.ts';
import { type SupervisedWorld, supervisedWorld } from './testing.ts';

const program = join(import.meta.dirname, '../../../test/agents/short-lived-supervisor.ts');

/** A server in a process of its own, killed with -9 as soon as its session fits; gives the row as it then was. */
async function killServerWhen(
  agent: string,
  fits: (row: SessionRow) => boolean,
): Promise<{ folder: string; row: SessionRow }> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-kill-'));
  const server = spawn(process.execPath, [program, folder, agent], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill('SIGKILL'));
  const first = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
  const id = String(first.value);
  const store = await openSqlite(join(folder, 'chantier.db'));
  try {
    for (;;) {
      const row = await store.read.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      if (fits(row)) {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGKILL');
        await ended;
        return { folder, row };
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await store.close();
  }
}

async function said(world: SupervisedWorld, id: string): Promise<string> {
  const page = mustOk(await readTranscript(world.sessionsFolder, id, 1, {}));
  return page.lines.map((line) => line.text).join('\n');
}

it('server killed -9 with a question open: the next one answers it and the same process goes on (S-48, decision 6)', async () => {
  const { folder, row } = await killServerWhen('asks-question', (each) => each.state === 'ESCALATED');
  const world = await supervisedWorld({ folder });
  expect(world.supervisor().attachedSessions()).toEqual([{ sessionId: row.id, generation: 1 }]);
  await world.must('respond', { workKey: 'PD-1', text: 'half up' });
  const after = await world.inState(row.id, 'RUNNING');
  expect(after.pid).toBe(row.pid);
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  expect(await said(world, row.id)).toContain('half up');
  expect(world.variables).toEqual([]);
});

it('server killed -9 with a permission held: settled afterwards, the same process gets the answer (field cases 28 and 29)', async () => {
  const { folder, row } = await killServerWhen('asks-permission', (each) => each.waiting_approval === 1);
  const world = await supervisedWorld({ folder });
  const match = { decisionId: 'd-1' };
  mustOk(await world.store.tx((tx) => answerPermission(tx, match, { allow: true, actor: operator })));
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  expect(await said(world, row.id)).toContain(`${row.pid}: proceed_once`);
});
