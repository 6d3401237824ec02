import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { expect, it, onTestFinished } from 'vitest';

import { pathsOf } from '../../config/index.ts';
import { ok, systemActor } from '../../kernel/index.ts';
import { reportStatus } from '../../sessions/index.ts';
import { sessionWorld, type WorldOptions } from '../../sessions/testing.ts';
import { verifyExport } from '../../store/index.ts';
import { eachStore } from '../../store/testing.ts';
import type { AuditExportQuery } from '../../wire/index.ts';
import { exportAudit } from './export-audit.ts';

eachStore((_dialect, open) => {
  async function setup(options: WorldOptions = {}) {
    const { store } = await open();
    const folder = mkdtempSync(join(tmpdir(), 'chex-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const paths = pathsOf(join(folder, 'c'));
    const lines = async (view: AuditExportQuery['view'], range: { from?: number; to?: number } = {}) => {
      await store.settled();
      const all: string[] = [];
      for await (const line of exportAudit({ store, paths }, { view, from: 1, ...range })) all.push(line);
      return all;
    };
    const documents = async (view: AuditExportQuery['view']) =>
      (await lines(view)).map((line) => JSON.parse(line) as Record<string, unknown>);
    return { ...sessionWorld(store, options), keyFile: join(paths.keys, 'evidence.key'), paths, lines, documents };
  }

  it('gives the rejection log in the shape of the seed, and nothing else of the log (S-56, S7.4, ERR-01, ERR-03)', async () => {
    const world = await setup();
    for (const n of [1, 2, 3, 4, 5]) await world.must('start', { workKey: `PD-${n}` });
    await world.run('start', { workKey: 'PD-299' });
    await world.run('deploy');
    const log = await world.lines('rejections');
    const [quota, unknown] = log.map((line) => JSON.parse(line) as { timestamp: string });
    expect(log[0]).toBe(
      `{"timestamp":"${quota!.timestamp}","peer_id":"operator","message_type":"START","reason":"quota_exceeded (5/5)","story_id":"PD-299","event":"COMMAND_REJECTED"}\n`,
    );
    expect(quota!.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(unknown).toEqual({
      timestamp: unknown!.timestamp,
      peer_id: 'operator',
      message_type: 'DEPLOY',
      reason: 'unknown_command',
      event: 'COMMAND_REJECTED',
    });
    expect(log).toHaveLength(2);
  });

  it('escapes what a stranger wrote and cuts it at 200 characters, so that one rejection is one harmless line (S7.4)', async () => {
    const world = await setup();
    const hostile = `PD-1\n{"event":"forged"}\u001b[2J\u202e${'x'.repeat(4000)}`;
    await world.run('start', { workKey: hostile });
    await world.run(hostile, { workKey: 'PD-1' });
    const log = await world.lines('rejections');
    expect(log).toHaveLength(2);
    for (const line of log) {
      expect(line.slice(0, -1)).not.toMatch(/\p{C}/u);
      for (const value of Object.values(JSON.parse(line) as Record<string, string>))
        expect(value.length).toBeLessThanOrEqual(201);
    }
    expect(JSON.parse(log[0] ?? '')).toMatchObject({ story_id: expect.stringMatching(/^PD-1\\u\{a\}.*x…$/) as string });
  });

  it('has a refused message of an agent under its session (ERR-03, S-65)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await reportStatus(world.ctx, holder, { text: 'planted '.repeat(100) });
    expect(await world.documents('rejections')).toMatchObject([
      {
        peer_id: holder.sessionId,
        message_type: 'STATUS_UPDATE',
        reason: 'summary_text_invalid',
        event: 'MESSAGE_REJECTED',
        story_id: 'PD-1',
      },
    ]);
  });

  it('puts keyed hashes for question and answer, which text and key prove and which nobody can guess (S-62, S-63)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.ask(holder, 'Is the planted cafe\u0301 sentence right?');
    await world.must('respond', { workKey: 'PD-1', text: 'yes' });
    const log = await world.documents('evidence');
    const key = readFileSync(world.keyFile, 'utf8').trim();
    const hash = (text: string, secret = key) => createHmac('sha256', secret).update(text).digest('hex').slice(0, 16);
    const evidence = (kind: string) => log.find((one) => one.kind === kind)?.evidence;
    expect(evidence('escalation.opened')).toEqual({ question: hash('Is the planted café sentence right?') });
    expect(evidence('escalation.answered')).toEqual({ answer: hash('yes') });
    expect(log.filter((one) => 'evidence' in one)).toHaveLength(2);
    // Without the key the hash of a short answer is not to be had.
    for (const guess of ['', 'chantier', 'yes']) expect(hash('yes', guess)).not.toBe(hash('yes'));
    expect(JSON.stringify(log)).not.toMatch(/planted|"yes"/);
    expect(JSON.stringify(log)).not.toContain(key);
    expect(statSync(world.keyFile).mode & 0o777).toBe(0o600);
  });

  it('says the same under the same key, and its chain can be verified like the plain export’s', async () => {
    const world = await setup();
    await world.ask(await world.running('PD-1'), 'One?');
    const first = await world.lines('evidence');
    expect(await world.lines('evidence')).toEqual(first);
    expect(await verifyExport(Readable.from(first))).toMatchObject({ ok: true, count: first.length });
    const plain = await world.lines('events');
    expect(plain).toHaveLength(first.length);
    expect(await world.lines('events', { from: 2, to: 3 })).toEqual(plain.slice(1, 3));
  });

  it('refuses a key that others can read or that is none, before the first line, and keeps it', async () => {
    const world = await setup();
    await world.lines('evidence');
    chmodSync(world.keyFile, 0o644);
    const start = () => exportAudit(world, { view: 'evidence', from: 1 });
    expect(start).toThrow(/Others can read .*evidence\.key/);
    chmodSync(world.keyFile, 0o600);
    writeFileSync(world.keyFile, '');
    expect(start).toThrow(/is no key/);
    expect(readFileSync(world.keyFile, 'utf8')).toBe('');
  });

  it('comes whole and in order over many pages, and ends with a reader who leaves', async () => {
    const world = await setup();
    await world.store.tx(async (tx) => {
      for (let n = 0; n < 3000; n += 1)
        await tx.emit({
          kind: 'command.rejected',
          actor: systemActor('test'),
          subject: { kind: 'command', id: 'start' },
          facts: { peer_id: 'operator', message_type: 'START', reason: `no ${n}`, story_id: null },
        });
      return ok();
    });
    await world.store.settled();
    for (const view of ['events', 'rejections', 'evidence'] as const) {
      const log = exportAudit(world, { view, from: 1 })[Symbol.asyncIterator]();
      expect((await log.next()).value).toContain('no 0');
      await log.return?.();
      expect(await log.next()).toEqual({ done: true, value: undefined });
    }
    const log = await world.documents('rejections');
    expect(log.map((one) => one.reason)).toEqual(Array.from({ length: 3000 }, (_value, n) => `no ${n}`));
  });
});
