import { describe, expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { decideAsHuman } from '../store/index.ts';
import { eachStore } from '../store/testing.ts';
import { assertNoEscalation, graceMs } from './capability.ts';
import { listCapabilities, readCapability } from './capability-store.ts';
import { approveCapability, reclassifyCapability, refuseCapability } from './decide-capability.ts';
import { runExpiryOnce } from './expire-capabilities.ts';
import { guardOf } from './guard.ts';
import {
  agentSession,
  callOf,
  eventKindsOf,
  judge,
  makeWorkFolder,
  operator,
  policyOf,
  serverCall,
  shellCall,
} from './testing.ts';

const reversible = { name: 'add_comment', annotations: { readOnlyHint: false, destructiveHint: false } };
const privileged = { name: 'delete_project', annotations: { destructiveHint: true } };
const human = { actor: operator, phase: 3, hasFreshProof: true } as const;

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock } = await open();
    const folder = makeWorkFolder();
    return {
      store,
      clock,
      folder,
      count: (kind: string) => eventKindsOf(store).then((kinds) => kinds.filter((one) => one === kind).length),
    };
  }

  it('GT-1: a read-only call leaves no record', async () => {
    const { store, folder } = await setup();
    const calls = [
      callOf(folder, 'read', { file_path: `${folder}/src/a.ts` }),
      shellCall(folder, 'ls -la && git status | head'),
      serverCall(folder, { name: 'list', annotations: { readOnlyHint: true } }),
    ];
    for (const call of calls)
      expect(await judge(store, call)).toMatchObject({ decision: 'allow', reason: 'read_only' });
    expect(await listCapabilities(store.read)).toEqual([]);
    expect(await eventKindsOf(store)).toEqual([]);
  });

  it('GT-2, G-1, G-7, G-11, G-13: an unknown privileged call is blocked and refused with id, status and tier', async () => {
    const { store, folder, count } = await setup();
    const answer = await judge(store, serverCall(folder, privileged));
    const [capability] = await listCapabilities(store.read);
    expect(capability).toMatchObject({
      status: 'blocked',
      tier: 'privileged',
      expiresAt: null,
      execCount: 0,
      refusedCount: 1,
    });
    expect(answer).toMatchObject({ decision: 'refuse', capabilityId: capability?.id });
    expect(answer.message).toBe(
      `refused: capability ${capability?.id} is blocked (privileged, awaiting human approval). Go on with something else; a human can approve ${capability?.id}.`,
    );
    expect(await count('call.refused')).toBe(1);
    await judge(store, serverCall(folder, privileged));
    const decisions = await store.read.selectFrom('decision_request').selectAll().execute();
    expect(decisions).toMatchObject([{ kind: 'capability_approval', state: 'open', count: 2 }]);
  });

  it('GT-3, G-14: once approved it runs and is counted, without an alert', async () => {
    const { store, folder, count } = await setup();
    const { capabilityId } = await judge(store, serverCall(folder, privileged));
    mustOk(await store.tx((tx) => approveCapability(tx, { ...human, capabilityId: capabilityId ?? '' })));
    expect(await judge(store, serverCall(folder, privileged))).toMatchObject({ decision: 'allow' });
    expect(await readCapability(store.read, capabilityId ?? '')).toMatchObject({
      status: 'approved',
      execCount: 1,
      decidedBy: 'olga',
      expiresAt: null,
    });
    expect(await count('capability.first-run')).toBe(0);
    expect(await store.read.selectFrom('decision_request').select('outcome').execute()).toEqual([
      { outcome: 'approved' },
    ]);
  });

  it('GT-4, G-4, G-11: an unknown reversible call runs, provisional for 7 days, with one first run', async () => {
    const { store, clock, folder, count } = await setup();
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({ decision: 'allow', isFirstRun: true });
    expect(await judge(store, serverCall(folder, reversible))).not.toHaveProperty('isFirstRun');
    const [capability] = await listCapabilities(store.read);
    expect(capability).toMatchObject({
      status: 'provisional',
      tier: 'reversible',
      execCount: 2,
      expiresAt: clock.now() + graceMs,
    });
    expect(await count('capability.first-run')).toBe(1);
  });

  it('GT-5, G-6, G-18: grace ends at exactly 7 days, at the call and in the hourly pass', async () => {
    const { store, clock, folder } = await setup();
    await judge(store, serverCall(folder, reversible));
    clock.advance(graceMs - 1);
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({ decision: 'allow' });
    clock.advance(1);
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({
      decision: 'refuse',
      reason: 'capability_blocked',
    });
    expect(await store.tx((tx) => runExpiryOnce(tx, 3))).toMatchObject({ blocked: 0 });
    clock.advance(1);
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({ decision: 'refuse' });
  });

  it('decision 6, attack 17: a clock set back gives no more grace', async () => {
    const { store, clock, folder } = await setup();
    await judge(store, serverCall(folder, reversible));
    clock.advance(graceMs);
    await store.tx((tx) => runExpiryOnce(tx, 3));
    clock.advance(-graceMs);
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({ decision: 'refuse' });
    expect(await judge(store, serverCall(folder, { ...reversible, name: 'other_tool' }))).toMatchObject({
      decision: 'allow',
    });
    const capabilities = await listCapabilities(store.read, { status: 'provisional' });
    expect(capabilities[0]?.expiresAt).toBe(clock.now() + 2 * graceMs);
  });

  it('GT-6, G-17: the expiry pass is idempotent, also twice at once', async () => {
    const { store, clock, folder } = await setup();
    await judge(store, serverCall(folder, reversible));
    clock.advance(graceMs);
    const passes = await Promise.all([1, 2].map(() => store.tx((tx) => runExpiryOnce(tx, 3))));
    expect(passes.map(({ blocked }) => blocked).toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect((await store.tx((tx) => runExpiryOnce(tx, 3))).blocked).toBe(0);
  });

  it('GT-7, G-10, G-30: refused while provisional, the next call is refused, and the record stays', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, reversible));
    mustOk(await store.tx((tx) => refuseCapability(tx, { ...human, capabilityId })));
    expect(await judge(store, serverCall(folder, reversible))).toMatchObject({
      decision: 'refuse',
      reason: 'capability_refused',
    });
    await expect(store.tx((tx) => tx.db.deleteFrom('capability').execute())).rejects.toThrow(/capabilities_are_kept/);
    const again = await store.tx((tx) => approveCapability(tx, { ...human, capabilityId }));
    expect(again).toMatchObject({ refusal: { code: 'note_missing' } });
    expect(
      mustOk(await store.tx((tx) => approveCapability(tx, { ...human, capabilityId, note: 'was a mistake' })))
        .isChanged,
    ).toBe(true);
  });

  it('GT-8, G-8: only a human lowers a tier; raising is open to all and blocks', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, reversible));
    expect(() => assertNoEscalation(agentSession, 'privileged', 'reversible')).toThrow(/may not lower/);
    const raised = await store.tx((tx) =>
      reclassifyCapability(tx, { capabilityId, tier: 'privileged', actor: agentSession, hasFreshProof: false }),
    );
    expect(mustOk(raised)).toMatchObject({ tier: 'privileged', status: 'blocked' });
    const byAgent = await store.tx((tx) =>
      reclassifyCapability(tx, { capabilityId, tier: 'reversible', actor: agentSession, hasFreshProof: true }),
    );
    expect(byAgent).toMatchObject({ refusal: { code: 'tier_escalation' } });
    const lower = { capabilityId, tier: 'reversible', actor: operator, reason: 'looked at it' } as const;
    expect(await store.tx((tx) => reclassifyCapability(tx, { ...lower, hasFreshProof: false }))).toMatchObject({
      refusal: { code: 'fresh_proof' },
    });
    expect(mustOk(await store.tx((tx) => reclassifyCapability(tx, { ...lower, hasFreshProof: true })))).toMatchObject({
      tier: 'reversible',
      status: 'blocked',
    });
  });

  it('GT-9, G-16, G-24, G-26: phase 1 hides and refuses what changes something, and records nothing new', async () => {
    const { store, folder } = await setup();
    const guard = guardOf(1, store);
    expect(guard.name).toBe('read-only');
    expect(
      guard.listTools([
        { name: 'list', isReadOnly: true },
        { name: 'drop', isReadOnly: false },
      ]),
    ).toEqual([{ name: 'list', isReadOnly: true }]);
    expect(await guard.check(serverCall(folder, reversible), policyOf())).toMatchObject({
      decision: 'refuse',
      reason: 'phase',
    });
    expect(await guard.check(shellCall(folder, 'touch x', { sandboxHolds: true }), policyOf())).toMatchObject({
      decision: 'refuse',
      reason: 'phase',
    });
    expect(await guard.check(shellCall(folder, 'ls'), policyOf())).toMatchObject({ decision: 'allow' });
    expect(await listCapabilities(store.read)).toEqual([]);
  });

  it('GT-10, G-28: phase 2 to 1 to 2 keeps approvals', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, privileged));
    mustOk(await store.tx((tx) => approveCapability(tx, { ...human, phase: 2, capabilityId })));
    expect(await store.tx((tx) => refuseCapability(tx, { ...human, phase: 1, capabilityId }))).toMatchObject({
      refusal: { code: 'phase_1' },
    });
    expect(await judge(store, serverCall(folder, privileged), policyOf({ phase: 1 }))).toMatchObject({
      decision: 'refuse',
    });
    expect(await judge(store, serverCall(folder, privileged), policyOf({ phase: 2 }))).toMatchObject({
      decision: 'allow',
    });
  });

  it('GT-13, G-2, decision 3, attacks 3 and 4, field case 40: a changed definition is another capability, its tier never falls, its grace is not renewed', async () => {
    const { store, clock, folder } = await setup();
    const first = await judge(store, serverCall(folder, privileged));
    mustOk(await store.tx((tx) => approveCapability(tx, { ...human, capabilityId: first.capabilityId ?? '' })));
    const flipped = { name: privileged.name, annotations: { destructiveHint: false } };
    const second = await judge(store, serverCall(folder, flipped));
    expect(second).toMatchObject({ decision: 'refuse' });
    expect(await readCapability(store.read, second.capabilityId ?? '')).toMatchObject({
      tier: 'privileged',
      status: 'blocked',
    });
    expect(await readCapability(store.read, first.capabilityId ?? '')).toMatchObject({ status: 'blocked' });
    await judge(store, serverCall(folder, reversible));
    clock.advance(graceMs - 1000);
    const renamed = {
      name: reversible.name,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    };
    const third = await judge(store, serverCall(folder, renamed));
    expect((await readCapability(store.read, third.capabilityId ?? ''))?.expiresAt).toBe(clock.now() + 1000);
    clock.advance(1000);
    const fourth = {
      name: reversible.name,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    };
    expect(await judge(store, serverCall(folder, fourth))).toMatchObject({ decision: 'refuse' });
  });

  it('a new version of a refused tool begins blocked', async () => {
    const { store, folder } = await setup();
    const first = await judge(store, serverCall(folder, reversible));
    mustOk(await store.tx((tx) => refuseCapability(tx, { ...human, capabilityId: first.capabilityId ?? '' })));
    const changed = { name: reversible.name, annotations: { ...reversible.annotations, idempotentHint: true } };
    expect(await judge(store, serverCall(folder, changed))).toMatchObject({
      decision: 'refuse',
      reason: 'capability_blocked',
    });
  });

  it('GT-14, G-20, G-21, attack 15: a session decides nothing, and its try leaves an event', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, privileged));
    const refused = await decideAsHuman(
      store,
      { actor: agentSession, act: 'approve_capability', subject: { kind: 'capability', id: capabilityId } },
      (tx) => approveCapability(tx, { ...human, actor: agentSession, capabilityId }),
    );
    expect(refused).toMatchObject({ refusal: { kind: 'not-permitted', code: 'human_only' } });
    for (const actor of [agentSession, { kind: 'operator-cli', id: 'olga' }, { kind: 'viewer', id: 'vera' }] as const) {
      expect(await store.tx((tx) => approveCapability(tx, { ...human, actor, capabilityId }))).toMatchObject({
        ok: false,
      });
    }
    await judge(store, shellCall(folder, `echo "/approve ${capabilityId}"`));
    expect(await readCapability(store.read, capabilityId)).toMatchObject({ status: 'blocked' });
    expect((await eventKindsOf(store)).filter((kind) => kind === 'access.refused')).toHaveLength(1);
  });

  it('G-12: 50 first calls at once make one record, count 50 and one first run', async () => {
    const { store, folder, count } = await setup();
    const answers = await Promise.all(Array.from({ length: 50 }, () => judge(store, serverCall(folder, reversible))));
    expect(answers.every(({ decision }) => decision === 'allow')).toBe(true);
    const capabilities = await listCapabilities(store.read);
    expect(capabilities).toHaveLength(1);
    expect(capabilities[0]).toMatchObject({ execCount: 50 });
    expect(await count('capability.first-run')).toBe(1);
  });

  it('G-5: definitions of one tool that are seen at the same time never leave two of it running', async () => {
    const { store, folder } = await setup();
    const versions = Array.from({ length: 20 }, (_, index) => ({
      ...reversible.annotations,
      title: `Version ${index}`,
    }));
    await Promise.all(
      versions.map((annotations) => judge(store, serverCall(folder, { name: reversible.name, annotations }))),
    );
    const capabilities = await listCapabilities(store.read);
    expect(capabilities).toHaveLength(versions.length);
    expect(capabilities.filter(({ status }) => status !== 'blocked')).toHaveLength(1);
  });

  it('G-22: deciding again what is decided changes nothing; an unknown id is named', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, privileged));
    await store.tx((tx) => approveCapability(tx, { ...human, capabilityId }));
    expect(mustOk(await store.tx((tx) => approveCapability(tx, { ...human, capabilityId })))).toMatchObject({
      isChanged: false,
    });
    expect(await store.tx((tx) => approveCapability(tx, { ...human, capabilityId: 'zzz' }))).toMatchObject({
      refusal: { message: 'unknown id zzz' },
    });
    const withoutProof = await judge(store, serverCall(folder, { name: 'drop_table' }));
    expect(
      await store.tx((tx) =>
        approveCapability(tx, { ...human, hasFreshProof: false, capabilityId: withoutProof.capabilityId ?? '' }),
      ),
    ).toMatchObject({
      refusal: { kind: 'proof-required' },
    });
  });

  it('the database itself keeps grace from being given twice and definitions from being changed', async () => {
    const { store, folder } = await setup();
    const { capabilityId = '' } = await judge(store, serverCall(folder, privileged));
    const change = (set: object) =>
      store.tx((tx) => tx.db.updateTable('capability').set(set).where('id', '=', capabilityId).execute());
    await expect(change({ status: 'provisional', expires_at: 9, risk_tier: 'reversible' })).rejects.toThrow(
      /grace_is_given_once/,
    );
    await expect(change({ version: '2' })).rejects.toThrow(/a_new_definition/);
  });

  it('G-15: with a store that cannot be used only reading goes on', async () => {
    const { store, folder } = await setup();
    await store.close();
    const faults: unknown[] = [];
    const guard = guardOf(3, store, (error) => faults.push(error));
    expect(await guard.check(shellCall(folder, 'npm test'), policyOf())).toMatchObject({
      decision: 'refuse',
      reason: 'gate_failed',
    });
    expect(faults).toHaveLength(1);
    expect(await guard.check(shellCall(folder, 'cat src/a.ts'), policyOf())).toMatchObject({ decision: 'allow' });
  });
});

describe('an untrusted server (G6.1)', () => {
  it('can only raise: what it calls read-only counts as reversible; what says nothing is privileged (G-9, attack 5, field case 39)', async () => {
    const { tierOf } = await import('./capability.ts');
    expect(tierOf({ readOnlyHint: true }, { isTrusted: false })).toBe('reversible');
    expect(tierOf({ readOnlyHint: true }, { isTrusted: true })).toBe('read-only');
    expect(tierOf({ readOnlyHint: true, destructiveHint: true }, { isTrusted: true })).toBe('privileged');
    expect(tierOf(undefined, { isTrusted: true })).toBe('privileged');
    expect(tierOf({}, { isTrusted: true })).toBe('privileged');
    expect(tierOf({ destructiveHint: false }, { isTrusted: true, previous: 'privileged' })).toBe('privileged');
    expect(tierOf({}, { isTrusted: false, override: 'read-only' })).toBe('read-only');
  });
});
