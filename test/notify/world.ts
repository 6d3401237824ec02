import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';
import { onTestFinished } from 'vitest';

import type { App } from '../../src/app/app.ts';
import type { Caller } from '../../src/app/caller.ts';
import type { AppContext } from '../../src/app/context.ts';
import { decisionUseCases } from '../../src/app/decisions/use-cases.ts';
import { openHalt } from '../../src/app/instance/halt.ts';
import { openCredentials } from '../../src/app/notify/credentials.ts';
import { createNotifying } from '../../src/app/notify/start-notifying.ts';
import { notifyUseCases } from '../../src/app/notify/use-cases.ts';
import { loadConfig, pathsOf, type SettingValue } from '../../src/config/index.ts';
import { mustOk, newId } from '../../src/kernel/index.ts';
import { sessionWorld } from '../../src/sessions/testing.ts';
import { type NewDecision, openDecision, type Store } from '../../src/store/index.ts';
import type { TestStore } from '../../src/store/testing.ts';

/** How a world of messages differs from the plain one. */
export interface NotifyWorldOptions {
  settings?: Record<string, SettingValue>;
  /** Base address of the Bot API. */
  botApi?: string;
  /** The home of an earlier world, for a restart over the same store. */
  home?: string;
  /** Writes what the server logs. */
  log?: (line: string) => void;
}

/** Sessions without processes, real decisions, and the loops that tell and listen, over a store. */
export async function openNotifyWorld(
  { store, clock }: Pick<TestStore, 'store' | 'clock'>,
  options: NotifyWorldOptions = {},
) {
  const home = options.home ?? temporaryHome();
  const paths = pathsOf(home);
  const sessions = sessionWorld(store);
  const stored = new Map<string, SettingValue>(Object.entries({ 'notify.timeZone': 'UTC', ...options.settings }));
  const env = options.botApi === undefined ? {} : { CHANTIER_TELEGRAM_API: options.botApi };
  const log = options.log
    ? pino({ level: 'trace' }, { write: options.log })
    : pino({ level: process.env.CHANTIER_TEST_LOG ?? 'silent' });
  const ctx = {
    store,
    paths,
    config: loadConfig({ env, stored }),
    halt: await openHalt(store),
    log,
    sessions: sessions.ctx,
    broker: sessions.broker,
    barrier: {
      sandbox: undefined,
      report: { holds: true, driver: 'bubblewrap', effects: [] },
      wall: undefined,
      rules: [],
    },
    version: '0.0.0',
    nodeId: 'node',
    credentials: openCredentials(paths, undefined),
  } as unknown as AppContext;
  // Nothing here starts or stops sessions.
  const app = { decisions: decisionUseCases(ctx), notify: notifyUseCases(ctx) } as App;
  const notifying = createNotifying(ctx, () => app);
  onTestFinished(() => notifying.stop());
  const ada = await ensureUser(store, 'ada');
  const caller = (proof: Caller['proof'] = 'fresh', id = ada): Caller => ({
    actor: { kind: 'operator', id, channel: 'console' },
    proof,
    scope: `user:${id}`,
    idempotencyKey: newId(),
  });
  return {
    store,
    clock,
    home,
    ctx,
    app,
    sessions,
    notifying,
    ada,
    caller,
    addUser: (name: string) => ensureUser(store, name),
    /** Sets the webhook up and starts the loops. */
    async withWebhook(url: string) {
      mustOk(await app.notify.setWebhook(caller(), { url }));
      notifying.start();
    },
    /** Sets the bot up with owners and starts the loops. */
    async withTelegram(token: string, ...owners: number[]) {
      mustOk(await app.notify.setTelegram(caller(), token));
      for (const owner of owners) mustOk(await app.notify.addOwner(caller(), String(owner), 'ada'));
      notifying.start();
    },
    /** Moves the clock and has everything said that is due. */
    async pass(ms: number) {
      clock.advance(ms);
      await notifying.settle();
    },
    open: (decision: Omit<NewDecision, 'title' | 'detail'> & Partial<NewDecision>) =>
      store.tx((tx) => openDecision(tx, { title: 'A title', detail: {}, ...decision })),
    decision: (id: string) =>
      store.read.selectFrom('decision_request').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    decisionOf: (escalationId: string) =>
      store.read
        .selectFrom('decision_request')
        .selectAll()
        .where('subject_id', '=', escalationId)
        .executeTakeFirstOrThrow(),
    question: (id: string) =>
      store.read.selectFrom('escalation').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    events: async (kind: string) =>
      (await store.read.selectFrom('event').selectAll().where('kind', '=', kind).orderBy('ord').execute()).map(
        (row) => ({ ...row, facts: JSON.parse(row.facts) as Record<string, unknown> }),
      ),
  };
}

export type NotifyWorld = Awaited<ReturnType<typeof openNotifyWorld>>;

function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'chnotify-'));
  mkdirSync(join(home, 'keys'), { recursive: true, mode: 0o700 });
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function ensureUser(store: Store, name: string): Promise<string> {
  const known = await store.read.selectFrom('user_account').select('id').where('name', '=', name).executeTakeFirst();
  if (known) return known.id;
  const row = {
    id: newId<string>(),
    name,
    role: 'operator' as const,
    passphrase_hash: '',
    created_by: 'test',
    created_at: 0,
    disabled_at: null,
  };
  await store.tx((tx) => tx.db.insertInto('user_account').values(row).execute());
  return row.id;
}
