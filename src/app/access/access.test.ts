import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import { eachStore, openTestSqlite, type TestStore } from '../../store/testing.ts';
import {
  actOfDecision,
  createAccess,
  ensureOperatorToken,
  firstRunTtlMs,
  hashSecret,
  logInTtlMs,
  newSecret,
  proofTtlMs,
  requireProof,
  unlockIdleMs,
  unlockTtlMs,
} from './index.ts';

const passphrase = 'correct horse battery';
const sessionToken = newSecret();

async function setup(open: () => Promise<TestStore> = openTestSqlite, options: { sandboxHolds?: boolean } = {}) {
  const { store, clock } = await open();
  const operatorToken = newSecret();
  const access = createAccess({
    store,
    operatorToken,
    lookUpSession: async (hash) =>
      hash === hashSecret(sessionToken) ? { sessionId: 's-1', generation: 2, role: 'author' } : undefined,
    sandboxHolds: () => options.sandboxHolds ?? true,
    passphraseCost: 4,
  });
  const operator = mustOk(await access.addFirstOperator({ name: 'Ada', passphrase }));
  const atSocket = (proof?: string) => access.identify({ door: 'operator-socket', bearer: operatorToken, proof });
  return { access, store, clock, operator, operatorToken, atSocket };
}

async function kindsOf(store: Store): Promise<string[]> {
  await store.tx(async () => {});
  const rows = await store.read.selectFrom('event').select('kind').orderBy('ord').execute();
  return rows.map((row) => row.kind);
}

describe('the first operator', () => {
  it('is made once only, at the terminal or by the link', async () => {
    const { access } = await setup();
    expect(await access.addFirstOperator({ name: 'eve', passphrase })).toMatchObject({
      refusal: { kind: 'wrong-state', code: 'operator_exists' },
    });
    expect(await access.openFirstRun()).toMatchObject({ refusal: { code: 'operator_exists' } });
  });

  it('is made anew when every operator is disabled', async () => {
    const { access, store } = await setup();
    await store.tx((tx) => tx.db.updateTable('user_account').set({ disabled_at: 1 }).execute());
    const { secret } = mustOk(await access.openFirstRun());
    mustOk(await access.claimFirstRun({ secret, name: 'eve', passphrase }));
  });

  it('comes by a link that lives 10 minutes and works once', async () => {
    const { store, clock } = await openTestSqlite();
    const access = createAccess({
      store,
      operatorToken: newSecret(),
      lookUpSession: async () => undefined,
      sandboxHolds: () => true,
      passphraseCost: 4,
    });
    expect(await access.hasOperator()).toBe(false);
    const old = mustOk(await access.openFirstRun());
    clock.advance(firstRunTtlMs);
    const late = await access.claimFirstRun({ secret: old.secret, name: 'ada', passphrase });
    expect(late).toMatchObject({ refusal: { kind: 'not-permitted', code: 'first_run_link_spent' } });
    const { secret } = mustOk(await access.openFirstRun());
    expect(await access.claimFirstRun({ secret, name: 'ada', passphrase: 'short' })).toMatchObject({
      refusal: { kind: 'invalid' },
    });
    mustOk(await access.claimFirstRun({ secret, name: 'ada', passphrase }));
    expect(await access.hasOperator()).toBe(true);
    expect(await access.claimFirstRun({ secret, name: 'eve', passphrase })).toMatchObject({ ok: false });
  });
});

eachStore((_dialect, open) => {
  it('accepts a one-use proof for one request and its repetition, never for another', async () => {
    const { access, atSocket, store } = await setup(open);
    const { proof } = mustOk(await access.giveProof(await atSocket(), { passphrase, door: 'operator-socket' }));
    const identity = await atSocket(proof);
    expect(identity).toMatchObject({ principal: 'operator-cli', proof: 'fresh', actor: { kind: 'operator' } });
    mustOk(await access.spendProof(identity, 'request-1'));
    mustOk(await access.spendProof(identity, 'request-1'));
    expect(await access.spendProof(identity, 'request-2')).toMatchObject({
      refusal: { kind: 'proof-required', code: 'proof_spent' },
    });
    expect((await kindsOf(store)).filter((kind) => kind === 'access.proof-spent')).toHaveLength(1);
  });

  it('spends a proof once when two requests race for it', async () => {
    const { access, atSocket } = await setup(open);
    const { proof } = mustOk(await access.giveProof(await atSocket(), { passphrase, door: 'operator-socket' }));
    const identity = await atSocket(proof);
    const answers = await Promise.all(['a', 'b', 'c'].map((request) => access.spendProof(identity, request)));
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
  });
});

describe('proofs', () => {
  it('grow old after 5 minutes', async () => {
    const { access, atSocket, clock } = await setup();
    const { proof } = mustOk(await access.giveProof(await atSocket(), { passphrase, door: 'operator-socket' }));
    const identity = await atSocket(proof);
    clock.advance(proofTtlMs);
    expect(await access.spendProof(identity, 'late')).toMatchObject({ refusal: { code: 'proof_spent' } });
  });

  it('belong to their operator: a console user cannot use the proof of another', async () => {
    const { access, atSocket } = await setup();
    mustOk(
      await access.addUser({ name: 'bob', role: 'operator', passphrase: 'another phrase' }, (await atSocket()).actor),
    );
    const bob = mustOk(await access.logIn({ name: 'bob', passphrase: 'another phrase' }));
    const adas = mustOk(await access.giveProof(await atSocket(), { name: 'ada', passphrase, door: 'operator-socket' }));
    const identity = await access.identify({ door: 'tcp', cookie: bob.cookie, proof: adas.proof });
    expect(identity).toMatchObject({ proof: 'none', flaw: 'bad_proof' });
  });

  it('are asked for by what is decided: trust, ship and a standing yes to a privileged capability take a fresh one', () => {
    expect(actOfDecision('repository_trust', 'approve')).toBe('trust-repository');
    expect(actOfDecision('repository_trust', 'refuse')).toBe('decide');
    expect(actOfDecision('capability_approval', 'approve', { isPrivileged: true })).toBe(
      'approve-privileged-capability',
    );
    expect(actOfDecision('call_approval', 'approve', { isPrivileged: true })).toBe('decide');
    expect(requireProof({ proof: 'standing' }, 'ship')).toMatchObject({ refusal: { code: 'fresh_proof_required' } });
    expect(requireProof({ proof: 'fresh' }, 'ship').ok).toBe(true);
    expect(requireProof({ proof: 'standing' }, 'decide').ok).toBe(true);
    expect(requireProof({ proof: 'none' }, 'decide')).toMatchObject({ refusal: { code: 'proof_required' } });
  });
});

describe('log-in', () => {
  it('gives a cookie that only reads and a proof that decides', async () => {
    const { access } = await setup();
    const { cookie, view } = mustOk(await access.logIn({ name: 'ada', passphrase }));
    expect(await access.identify({ door: 'tcp', cookie })).toMatchObject({ principal: 'operator', proof: 'none' });
    const withProof = await access.identify({ door: 'tcp', cookie, proof: view.proof! });
    expect(withProof).toMatchObject({ principal: 'operator', proof: 'standing' });
    expect(await access.identify({ door: 'bridge', cookie })).toMatchObject({ principal: 'anyone' });
    await access.logOut(withProof);
    expect(await access.identify({ door: 'tcp', cookie })).toMatchObject({
      principal: 'anyone',
      flaw: 'bad_credential',
    });
  });

  it('ends after 12 hours', async () => {
    const { access, clock } = await setup();
    const { cookie } = mustOk(await access.logIn({ name: 'ada', passphrase }));
    for (let hours = 0; hours < 11; hours += 1) {
      clock.advance(3_600_000);
      expect(await access.identify({ door: 'tcp', cookie })).toMatchObject({ principal: 'operator' });
    }
    clock.advance(logInTtlMs);
    expect(await access.identify({ door: 'tcp', cookie })).toMatchObject({ principal: 'anyone' });
  });

  it('gives viewers no proof', async () => {
    const { access, atSocket } = await setup();
    mustOk(await access.addUser({ name: 'vic', role: 'viewer', passphrase }, (await atSocket()).actor));
    const { cookie, view } = mustOk(await access.logIn({ name: 'vic', passphrase }));
    expect(view.proof).toBeNull();
    expect(await access.identify({ door: 'tcp', cookie, proof: 'x' })).toMatchObject({
      principal: 'viewer',
      proof: 'none',
    });
    expect(
      await access.giveProof(await atSocket(), { name: 'vic', passphrase, door: 'operator-socket' }),
    ).toMatchObject({ refusal: { code: 'not_an_operator' } });
  });

  it('makes guessing slow after 4 wrong passphrases, says for how long, and forgets after a success', async () => {
    const { access, clock } = await setup();
    for (let i = 0; i < 5; i += 1) {
      expect(await access.logIn({ name: 'ada', passphrase: `wrong ${i}` })).toMatchObject({
        refusal: { code: 'wrong_passphrase' },
      });
    }
    expect(await access.logIn({ name: 'ada', passphrase })).toMatchObject({
      refusal: { kind: 'quota', code: 'too_many_attempts', facts: { retry_after_s: 1 } },
    });
    clock.advance(1000);
    mustOk(await access.logIn({ name: 'ada', passphrase }));
    expect(await access.logIn({ name: 'ada', passphrase: 'wrong' })).toMatchObject({
      refusal: { code: 'wrong_passphrase' },
    });
  });

  it('cannot be guessed faster side by side, nor be shut for the terminal by guesses at the console', async () => {
    const { access, atSocket } = await setup();
    const guesses = Array.from({ length: 12 }, (_, i) => access.logIn({ name: 'ada', passphrase: `wrong ${i}` }));
    const tried = (await Promise.all(guesses)).filter((one) => !one.ok && one.refusal.code === 'wrong_passphrase');
    expect(tried).toHaveLength(5);
    expect(await access.logIn({ name: 'ada', passphrase })).toMatchObject({ refusal: { code: 'too_many_attempts' } });
    mustOk(await access.giveProof(await atSocket(), { passphrase, door: 'operator-socket' }));
  });
});

describe('names that nobody has', () => {
  it('share one count of failures, and shut nobody else out', async () => {
    const { access, store } = await setup();
    const guesses = Array.from({ length: 12 }, (_, i) => access.logIn({ name: `made-up-${i}`, passphrase }));
    const tried = (await Promise.all(guesses)).filter((one) => !one.ok && one.refusal.code === 'wrong_passphrase');
    expect(tried).toHaveLength(5);
    expect(await store.read.selectFrom('log_in_failure').selectAll().execute()).toHaveLength(1);
    mustOk(await access.logIn({ name: 'ada', passphrase }));
  });
});

describe('an open terminal', () => {
  it('decides for 8 hours at most and closes after an hour without use', async () => {
    const { access, atSocket, clock } = await setup();
    const { token } = mustOk(await access.unlock({ passphrase }));
    clock.advance(unlockIdleMs - 1);
    expect(await atSocket(token)).toMatchObject({ proof: 'standing' });
    clock.advance(unlockIdleMs);
    expect(await atSocket(token)).toMatchObject({ proof: 'none', flaw: 'bad_proof' });
    const second = mustOk(await access.unlock({ passphrase })).token;
    for (let spent = 0; spent < unlockTtlMs - unlockIdleMs; spent += unlockIdleMs / 2) {
      clock.advance(unlockIdleMs / 2);
      expect(await atSocket(second)).toMatchObject({ proof: 'standing' });
    }
    clock.advance(unlockIdleMs - 1);
    await atSocket(second);
    clock.advance(unlockIdleMs - 1);
    expect(await atSocket(second)).toMatchObject({ proof: 'none' });
  });

  it('closes at once on demand', async () => {
    const { access, atSocket } = await setup();
    const { token } = mustOk(await access.unlock({ passphrase }));
    expect(await access.endUnlocks((await atSocket(token)).actor)).toBe(1);
    expect(await atSocket(token)).toMatchObject({ proof: 'none' });
  });

  it('does not exist without a working sandbox, since an agent could read its token', async () => {
    const { access } = await setup(openTestSqlite, { sandboxHolds: false });
    expect(await access.unlock({ passphrase })).toMatchObject({ refusal: { kind: 'wrong-state', code: 'unlock_off' } });
  });
});

describe('doors', () => {
  it('take each credential at its own door only', async () => {
    const { access, operatorToken } = await setup();
    const sessions = new Set(['s-1']);
    expect(await access.identify({ door: 'bridge', sessions, bearer: sessionToken })).toMatchObject({
      principal: 'author',
      id: 's-1',
      actor: { kind: 'session', generation: 2 },
    });
    expect(await access.identify({ door: 'bridge', sessions, bearer: sessionToken })).not.toHaveProperty('flaw');
    const wrong = { flaw: 'wrong_door' };
    expect(await access.identify({ door: 'tcp', sessions, bearer: sessionToken })).toMatchObject(wrong);
    expect(await access.identify({ door: 'bridge', bearer: sessionToken })).toMatchObject(wrong);
    expect(await access.identify({ door: 'bridge', sessions: new Set(['s-2']), bearer: sessionToken })).toMatchObject(
      wrong,
    );
    expect(await access.identify({ door: 'bridge', bearer: operatorToken })).toMatchObject({
      principal: 'anyone',
      flaw: 'wrong_door',
    });
    expect(await access.identify({ door: 'tcp', bearer: 'nonsense' })).toMatchObject({ flaw: 'bad_credential' });
  });

  it('ignore a cookie when a bearer token came', async () => {
    const { access } = await setup();
    const { cookie, view } = mustOk(await access.logIn({ name: 'ada', passphrase }));
    const identity = await access.identify({ door: 'tcp', bearer: 'nonsense', cookie, proof: view.proof! });
    expect(identity).toMatchObject({ principal: 'anyone', proof: 'none' });
  });
});

describe('refusals', () => {
  it('become events, and a flood of them is counted instead of written', async () => {
    const { access, store, clock } = await setup();
    const identity = await access.identify({ door: 'bridge', bearer: sessionToken });
    const refused = {
      identity,
      door: 'bridge' as const,
      route: 'PUT /api/decisions/{decision}/verdict',
      code: 'not_permitted',
    };
    for (let i = 0; i < 150; i += 1) await access.recordRefusal(refused);
    clock.advance(60_000);
    await access.recordRefusal(refused);
    const events = await store.read
      .selectFrom('event')
      .selectAll()
      .where('kind', '=', 'access.refused')
      .orderBy('ord')
      .execute();
    expect(events).toHaveLength(121);
    expect(events[0]).toMatchObject({ session_id: 's-1', actor_kind: 'session' });
    expect(JSON.parse(events.at(-1)!.facts)).toMatchObject({ not_listed: 30, code: 'not_permitted' });
  });
});

describe('secrets at rest', () => {
  it('are kept as hashes only (L-66)', async () => {
    const { access, store, atSocket } = await setup();
    const { cookie, view } = mustOk(await access.logIn({ name: 'ada', passphrase }));
    const { proof } = mustOk(await access.giveProof(await atSocket(), { passphrase, door: 'operator-socket' }));
    const { token } = mustOk(await access.unlock({ passphrase }));
    const tables = ['user_account', 'console_session', 'proof', 'unlock', 'event'] as const;
    const everything = JSON.stringify(
      await Promise.all(tables.map((table) => store.read.selectFrom(table).selectAll().execute())),
    );
    for (const secret of [cookie, view.proof!, proof, token, passphrase]) expect(everything).not.toContain(secret);
  });

  it('make one operator token of mode 0600, kept over restarts and refused once others could read it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chantier-access-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'operator.token');
    const token = ensureOperatorToken(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8').trim()).toBe(token);
    expect(ensureOperatorToken(file)).toBe(token);
    chmodSync(file, 0o644);
    expect(() => ensureOperatorToken(file)).toThrow(/Others can read/);
  });
});
