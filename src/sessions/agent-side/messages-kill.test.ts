import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect, it, onTestFinished } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { openSqlite } from '../../store/index.ts';
import { sessionWorld } from '../testing.ts';
import { checkMessages, sendMessage } from './messages.ts';

it('a message comes again when the server is killed -9 between handing it out and its acknowledgement, and not after (decision 10)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-messages-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = join(folder, 'chantier.db');
  const first = await openSqlite(database);
  const world = sessionWorld(first);
  const receiver = await world.running('PD-1');
  const sender = await world.running('PD-2');
  const to = (await world.row(receiver.sessionId)).endpoint_id;
  mustOk(await sendMessage(world.ctx, sender, { to, text: 'the interface has changed', key: 'm1' }));
  await first.close();

  const program = join(import.meta.dirname, '../../../test/agents/takes-messages.ts');
  const server = spawn(process.execPath, [program, database, receiver.sessionId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  onTestFinished(() => void server.kill('SIGKILL'));
  const said = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
  expect(String(said.value)).toContain('the interface has changed');
  server.kill('SIGKILL');
  await ended;

  const second = await openSqlite(database);
  onTestFinished(() => second.close());
  const { ctx } = sessionWorld(second);
  const [again] = mustOk(await checkMessages(ctx, receiver));
  expect(again).toMatchObject({ payload: { text: 'the interface has changed' } });
  expect(mustOk(await checkMessages(ctx, receiver, { ack: [again!.id] }))).toEqual([]);
});
