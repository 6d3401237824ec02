import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import type { Caller } from '../../src/app/caller.ts';
import type { AppContext } from '../../src/app/context.ts';
import { createSearch } from '../../src/app/sessions/search-transcripts.ts';
import { isRefused, mustOk } from '../../src/kernel/index.ts';
import { enqueuePrompt, reportStatus, sendMessage } from '../../src/sessions/index.ts';
import { operator, sessionWorld } from '../../src/sessions/testing.ts';
import { eachStore, type TestStore } from '../../src/store/testing.ts';
import type { SearchPage, SearchQuery } from '../../src/wire/index.ts';

const caller: Caller = { actor: operator, proof: 'none', scope: 'operator', idempotencyKey: 'k' };

/** Sessions without processes over a store, and what the search gives about them. */
async function setup(open: () => Promise<TestStore>) {
  const { store, clock } = await open();
  const folder = mkdtempSync(join(tmpdir(), 'chsearch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const world = sessionWorld(store);
  const ctx = { store, paths: { sessions: folder }, nodeId: 'local' } as unknown as AppContext;
  const use = createSearch(ctx);
  /** Code of the refusal, else `found`. */
  const refuses = async (query: Partial<SearchQuery>): Promise<string> => {
    const answer = await use(caller, { q: 'needle', limit: 20, ...query });
    return isRefused(answer) ? answer.refusal.code : 'found';
  };
  const search = async (q: string, query: Partial<SearchQuery> = {}): Promise<SearchPage> =>
    mustOk(await use(caller, { q, limit: 20, ...query }));
  const write = (sessionId: string, text: string, generation = 1): void => {
    const file = join(folder, sessionId, String(generation), 'out.ndjson');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  return { ...world, clock, folder, refuses, search, write };
}

const kindsOf = (page: SearchPage) => page.hits.map(({ kind }) => kind);

eachStore((_dialect, open) => {
  it('finds questions, answers, prompts, messages and reports, the newest first, then transcripts; nothing of it is in an event (issue 4)', async () => {
    const world = await setup(open);
    const ada = await world.running('PD-1');
    const bob = await world.running('PD-2');
    const to = (await world.row(bob.sessionId)).endpoint_id;
    const steps: (() => Promise<unknown>)[] = [
      () => world.ask(ada, 'Which needle: \u001B[31mred\u202E or blue?'),
      () => world.must('respond', { workKey: 'PD-1', text: 'The BLUE one' }),
      () => sendMessage(world.ctx, ada, { to, text: 'I hold the needle', key: 'm' }).then(mustOk),
      () => reportStatus(world.ctx, bob, { text: 'looking for the needle' }).then(mustOk),
    ];
    for (const step of steps) {
      await step();
      world.clock.advance(1000);
    }
    const row = await world.row(bob.sessionId);
    await world.ctx.store.tx((tx) =>
      enqueuePrompt(tx, row, { kind: 'tell', sourceKey: 't', text: 'Find the ne\u0065dle' }),
    );
    world.write(ada.sessionId, '{"type":"assistant","message":{"content":[{"type":"text","text":"a needle!"}]}}\n');

    const before = await world.events();
    const page = await world.search('NEEDLE');
    expect(kindsOf(page)).toEqual(['prompt', 'report', 'message', 'question', 'agent']);
    expect(page).toMatchObject({ ended: 'all', cursor: null, gaps: [] });
    const question = page.hits[3]!;
    expect(question.excerpt).toBe('Which needle: red or blue? — The BLUE one');
    expect(question).toMatchObject({ workKey: 'PD-1', generation: 1, at: '2026-01-01T00:00:00.000Z', offset: null });
    expect(page.hits[4]?.command).toBe(`chantier logs ${ada.sessionId} --generation 1 --after 0 --limit 40`);
    // Words may stand in the question and in its answer; the answer alone is found as such.
    expect(kindsOf(await world.search('blue "the blue one" which'))).toEqual(['question']);
    expect(kindsOf(await world.search('"the blue one"'))).toEqual(['answer']);
    expect(kindsOf(await world.search('needle', { session: 'PD-2' }))).toEqual(['prompt', 'report', 'message']);
    expect(kindsOf(await world.search('needle', { since: '2026-01-01T00:00:02.500Z', session: 'PD-2' }))).toEqual([
      'prompt',
      'report',
    ]);
    expect(await world.events()).toEqual(before);
  });

  it('pages through everything with a cursor, each text once, whatever the limit is', async () => {
    const world = await setup(open);
    const sessions = [await world.running('PD-1'), await world.running('PD-2')];
    for (const holder of sessions) {
      for (let at = 0; at < 70; at += 1) mustOk(await reportStatus(world.ctx, holder, { text: `needle ${at}` }));
      world.clock.advance(1000);
      for (const generation of [1, 2])
        world.write(holder.sessionId, `needle one ${generation}\nhay\nneedle two ${generation}\n`, generation);
      await world.ctx.store.tx((tx) =>
        tx.db.updateTable('session').set({ generation: 2 }).where('id', '=', holder.sessionId).execute(),
      );
    }
    const whole = await world.search('needle', { limit: 1000 });
    expect(whole.hits).toHaveLength(148);
    expect(whole.hits.slice(140).map(({ workKey, excerpt }) => `${workKey} ${excerpt}`)).toEqual(
      ['PD-2', 'PD-1'].flatMap((key) =>
        [2, 1].flatMap((one) => [`${key} needle two ${one}`, `${key} needle one ${one}`]),
      ),
    );
    const paged: SearchPage['hits'] = [];
    let cursor: string | null | undefined;
    do {
      const page: SearchPage = await world.search('needle', { limit: 7, ...(cursor ? { cursor } : {}) });
      paged.push(...page.hits);
      expect(page.ended).toBe(page.cursor === null ? 'all' : 'limit');
      ({ cursor } = page);
    } while (cursor);
    expect(paged).toEqual(whole.hits);
  });

  it('says what is not there any more and what lies elsewhere (sessions decision 2)', async () => {
    const world = await setup(open);
    const gone = await world.running('PD-1');
    const far = await world.running('PD-2');
    await world.running('PD-3');
    mustOk(await reportStatus(world.ctx, gone, { text: 'a needle' }));
    const { store } = world.ctx;
    await store.tx(async (tx) => {
      await tx.db.updateTable('session').set({ wound_up_at: 1 }).where('id', '=', gone.sessionId).execute();
      await tx.db.updateTable('session').set({ node_id: 'other' }).where('id', '=', far.sessionId).execute();
    });
    const page = await world.search('needle');
    expect(page.hits.map(({ kind, command }) => [kind, command])).toEqual([['report', null]]);
    expect(page.gaps.map(({ workKey, reason }) => [workKey, reason]).toSorted()).toEqual([
      ['PD-1', 'removed'],
      ['PD-2', 'other-node'],
    ]);
  });

  it('refuses a request without a word, a cursor that is none, an unknown session and task, and a third at once', async () => {
    const { refuses: codeOf } = await setup(open);
    expect(await codeOf({ q: '\u200B ""' })).toBe('search_empty');
    const hostile = { session: { id: 'x', createdAt: 9e15 }, generation: 9e15, before: { end: 9e15, isInLine: true } };
    const nul = Buffer.from(JSON.stringify({ session: { id: 'a\u0000', createdAt: 1 } })).toString('base64url');
    for (const cursor of ['%', 'e30', Buffer.from('[null]').toString('base64url'), nul])
      expect(await codeOf({ cursor })).toBe('search_cursor');
    expect(await codeOf({ cursor: Buffer.from(JSON.stringify(hostile)).toString('base64url') })).toBe('found');
    expect(await codeOf({ session: 'nobody' })).toBe('unknown_session');
    expect(await codeOf({ task: 'shop/none' })).not.toBe('found');
    const three = await Promise.all([codeOf({}), codeOf({}), codeOf({})]);
    expect(three.toSorted()).toEqual(['found', 'found', 'search_busy']);
    expect(await codeOf({})).toBe('found');
  });
});
