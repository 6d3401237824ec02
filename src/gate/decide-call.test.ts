import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import type { GateCall } from './call.ts';
import { approvalTtlMs, maxOpenCalls } from './call.ts';
import { listCalls, readCall } from './call-store.ts';
import { readCapability } from './capability-store.ts';
import { approveCall, approveCallForGood, recordOutcome, refuseCall } from './decide-call.ts';
import { approveCapability, refuseCapability } from './decide-capability.ts';
import { runExpiryOnce } from './expire-capabilities.ts';
import { prepareCall } from './prepare-call.ts';
import { spendApproval } from './spend-approval.ts';
import { agentSession, callOf, eventKindsOf, judge, makeWorkFolder, operator, policyOf, shellCall } from './testing.ts';
import { closeSessionCalls } from './void-calls.ts';

const human = { actor: operator, phase: 3 } as const;

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock, reopen } = await open();
    const folder = makeWorkFolder();
    const spend = (callId: string, call: GateCall) =>
      store.tx((tx) => spendApproval(tx, { callId, prepared: prepareCall(call, policyOf()) }));
    return { store, clock, reopen, folder, spend };
  }

  it('decision 4: a yes to one call is asked for, given, spent once, and then asked for anew (attack 2)', async () => {
    const { store, folder, spend } = await setup();
    const push = shellCall(folder, 'git push origin main', { sandboxHolds: true });
    const asked = await judge(store, push);
    expect(asked).toMatchObject({ decision: 'ask', reason: 'outside_effect' });
    const callId = asked.callId ?? '';
    const [decision] = await store.read.selectFrom('decision_request').selectAll().execute();
    expect(decision).toMatchObject({
      id: asked.decisionId,
      kind: 'call_approval',
      subject_id: callId,
      session_id: 's1',
    });
    expect(JSON.parse(decision?.detail ?? '')).toMatchObject({
      callId,
      canStand: true,
      isApprovable: true,
      preview: { text: 'command: git push origin main' },
    });
    expect(mustOk(await spend(callId, push))).toMatchObject({ decision: 'ask' });
    expect(mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId })))).toMatchObject({
      state: 'approved',
      sessionId: 's1',
    });
    expect(mustOk(await spend(callId, push))).toMatchObject({ decision: 'allow' });
    expect(mustOk(await spend(callId, push))).toMatchObject({ decision: 'refuse', reason: 'spent' });
    expect(await judge(store, push)).toMatchObject({ decision: 'ask' });
    expect(await readCapability(store.read, asked.capabilityId ?? '')).toMatchObject({
      status: 'blocked',
      execCount: 1,
    });
    const kinds = await eventKindsOf(store);
    expect(kinds.filter((kind) => kind.startsWith('call.'))).toEqual([
      'call.asked',
      'call.approved',
      'call.spent',
      'call.asked',
    ]);
  });

  it('decision 5: a parked call that comes again spends the yes; asked again while open only the count grows', async () => {
    const { store, folder } = await setup();
    const call = shellCall(folder, 'npm publish');
    const first = await judge(store, call);
    const second = await judge(store, call);
    expect(second).toMatchObject({ callId: first.callId, decisionId: first.decisionId, decision: 'ask' });
    expect(await readCall(store.read, first.callId ?? '')).toMatchObject({ count: 2, state: 'waiting' });
    expect(await store.read.selectFrom('decision_request').select('count').execute()).toEqual([{ count: 2 }]);
    mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId: first.callId ?? '' })));
    expect(await judge(store, call)).toMatchObject({ decision: 'allow', callId: first.callId });
    expect(await judge(store, call)).toMatchObject({ decision: 'ask' });
  });

  it('attack 1: arguments swapped after the yes are refused, the yes is void, and it shows (field case 32)', async () => {
    const { store, folder, spend } = await setup();
    const asked = await judge(store, shellCall(folder, 'git push origin main', { requestId: 'r1' }));
    const callId = asked.callId ?? '';
    mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId })));
    const swapped = shellCall(folder, 'git push --force origin main', { requestId: 'r1' });
    expect(mustOk(await spend(callId, swapped))).toMatchObject({ decision: 'refuse', reason: 'mismatch' });
    expect(await readCall(store.read, callId)).toMatchObject({ state: 'void' });
    expect(await eventKindsOf(store)).toContain('call.mismatch');
    expect(await judge(store, swapped)).toMatchObject({ decision: 'refuse' });
  });

  it('field case 31: a script that was changed after the yes is another call', async () => {
    const { store, folder, spend } = await setup();
    writeFileSync(join(folder, 'release.sh'), 'echo harmless');
    const call = shellCall(folder, 'bash release.sh');
    const { callId = '' } = await judge(store, call);
    mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId })));
    writeFileSync(join(folder, 'release.sh'), 'rm -rf ~');
    expect(mustOk(await spend(callId, call))).toMatchObject({ decision: 'refuse', reason: 'mismatch' });
  });

  it('a yes expires after 15 min, binds to caller, folder and policy, and survives a restart (field case 28)', async () => {
    const { store, clock, folder, spend, reopen } = await setup();
    const call = shellCall(folder, 'terraform apply');
    const { callId = '' } = await judge(store, call);
    mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId })));
    for (const other of [
      { ...call, sessionId: 's2' },
      { ...call, agent: 'mitnick' },
      { ...call, cwd: join(folder, 'src') },
    ]) {
      expect(await judge(store, other)).toMatchObject({ decision: 'ask' });
    }
    expect(
      await judge(store, call, policyOf({ instance: { rules: [{ effect: 'block', tool: 'nothing' }] } })),
    ).toMatchObject({ decision: 'ask' });
    clock.advance(approvalTtlMs - 1);
    const again = await reopen();
    expect(await readCall(again.read, callId)).toMatchObject({ state: 'approved' });
    clock.advance(1);
    expect(mustOk(await spend(callId, call))).toMatchObject({ decision: 'refuse', reason: 'expired' });
    expect(await readCall(store.read, callId)).toMatchObject({ state: 'expired' });
  });

  it('the expiry pass ends approvals that nobody spent', async () => {
    const { store, clock, folder } = await setup();
    const { callId = '' } = await judge(store, shellCall(folder, 'terraform apply'));
    mustOk(await store.tx((tx) => approveCall(tx, { ...human, callId })));
    clock.advance(approvalTtlMs);
    expect(await store.tx((tx) => runExpiryOnce(tx, 3))).toEqual({ blocked: 0, approvalsEnded: 1 });
    expect(await store.tx((tx) => runExpiryOnce(tx, 1))).toEqual({ blocked: 0, approvalsEnded: 0 });
  });

  it('a no stays a no for the identical call; another call of the same program may ask', async () => {
    const { store, clock, folder } = await setup();
    const call = shellCall(folder, 'npm publish');
    const { callId = '' } = await judge(store, call);
    mustOk(await store.tx((tx) => refuseCall(tx, { ...human, callId })));
    expect(await judge(store, call)).toMatchObject({ decision: 'refuse', reason: 'denied' });
    expect(await judge(store, shellCall(folder, 'npm publish --tag next'))).toMatchObject({ decision: 'ask' });
    clock.advance(15 * 60 * 1000);
    expect(await judge(store, call)).toMatchObject({ decision: 'ask' });
    expect(await store.tx((tx) => refuseCall(tx, { ...human, callId }))).toMatchObject({
      ok: true,
      value: { isChanged: false },
    });
    expect(await store.tx((tx) => approveCall(tx, { ...human, callId }))).toMatchObject({
      refusal: { code: 'call_closed' },
    });
  });

  it('GT-3 for commands: a standing yes lets `npm test` pass silently, and everything that waited for it (field case 34)', async () => {
    const { store, folder, spend } = await setup();
    const call = shellCall(folder, 'npm test -- --run');
    const asked = await judge(store, call);
    expect(asked).toMatchObject({ decision: 'ask', reason: 'unknown_command' });
    const { callId = '', capabilityId = '' } = asked;
    expect(await readCapability(store.read, capabilityId)).toMatchObject({
      type: 'command',
      name: 'npm test',
      tier: 'privileged',
    });
    const decided = mustOk(
      await store.tx((tx) => approveCapability(tx, { ...human, hasFreshProof: true, capabilityId })),
    );
    expect(decided.calls).toEqual([callId]);
    expect(mustOk(await spend(callId, call))).toMatchObject({ decision: 'allow' });
    expect(await judge(store, shellCall(folder, 'npm test && git status'))).toMatchObject({
      decision: 'allow',
      reason: 'standing',
    });
    expect(await judge(store, shellCall(folder, 'npm test && npm publish'))).toMatchObject({ decision: 'ask' });
    mustOk(await store.tx((tx) => refuseCapability(tx, { ...human, hasFreshProof: true, capabilityId })));
    expect(await judge(store, call)).toMatchObject({ decision: 'refuse', reason: 'capability_refused' });
  });

  it('one yes for good settles the call and its capability; an interpreter has no yes for good', async () => {
    const { store, folder } = await setup();
    const { callId = '', capabilityId = '' } = await judge(store, shellCall(folder, 'cargo build'));
    const forGood = { ...human, callId };
    expect(await store.tx((tx) => approveCallForGood(tx, { ...forGood, hasFreshProof: false }))).toMatchObject({
      refusal: { kind: 'proof-required' },
    });
    const decided = mustOk(await store.tx((tx) => approveCallForGood(tx, { ...forGood, hasFreshProof: true })));
    expect(decided).toMatchObject({ state: 'approved', approvedCapabilities: [capabilityId] });
    const script = await judge(store, shellCall(folder, 'python -c "import os"'));
    expect(script).toMatchObject({ decision: 'ask', reason: 'unmatched_command' });
    const refused = await store.tx((tx) =>
      approveCallForGood(tx, { ...human, callId: script.callId ?? '', hasFreshProof: true }),
    );
    expect(refused).toMatchObject({ refusal: { code: 'not_standing' } });
  });

  it('decision 9, attack 20: at most 20 questions of one session are open', async () => {
    const { store, folder } = await setup();
    for (let index = 0; index < maxOpenCalls; index++) await judge(store, shellCall(folder, `make target-${index}`));
    expect(await judge(store, shellCall(folder, 'make one-more'))).toMatchObject({
      decision: 'refuse',
      reason: 'too_many_open',
    });
    expect(await judge(store, { ...shellCall(folder, 'make one-more'), sessionId: 's2' })).toMatchObject({
      decision: 'ask',
    });
    expect(await store.tx((tx) => closeSessionCalls(tx, { sessionId: 's1', reason: 'session_ended' }))).toBe(
      maxOpenCalls,
    );
    const open = await store.read
      .selectFrom('decision_request')
      .select('session_id')
      .where('state', '=', 'open')
      .execute();
    expect(open).toEqual([{ session_id: 's2' }]);
  });

  it('attack 15: no session approves a call', async () => {
    const { store, folder } = await setup();
    const { callId = '' } = await judge(store, shellCall(folder, 'npm publish'));
    expect(await store.tx((tx) => approveCall(tx, { callId, actor: agentSession, phase: 3 }))).toMatchObject({
      refusal: { code: 'human_only' },
    });
    expect(await readCall(store.read, callId)).toMatchObject({ state: 'waiting' });
  });

  it('attack 16: a call that cannot be shown whole cannot be approved', async () => {
    const { store, folder } = await setup();
    const { callId = '' } = await judge(store, shellCall(folder, `npm publish ${'x'.repeat(30_000)}`));
    expect(await store.tx((tx) => approveCall(tx, { ...human, callId }))).toMatchObject({
      refusal: { code: 'preview_incomplete' },
    });
    mustOk(await store.tx((tx) => refuseCall(tx, { ...human, callId })));
  });

  it('the same request after a crash gets the same answer and is counted once', async () => {
    const { store, folder } = await setup();
    const call = shellCall(folder, 'echo x > src/a.ts', { sandboxHolds: true, requestId: 'q7' });
    const first = await judge(store, call);
    expect(first).toMatchObject({ decision: 'allow' });
    expect(await judge(store, call)).toMatchObject({ decision: 'allow', callId: first.callId });
    expect(await readCapability(store.read, first.capabilityId ?? '')).toMatchObject({
      name: 'command in sandbox',
      execCount: 1,
      decidedBy: 'preset:workspace',
    });
    mustOk(await store.tx((tx) => recordOutcome(tx, { callId: first.callId ?? '', outcome: 'ok' })));
    expect(await store.tx((tx) => recordOutcome(tx, { callId: first.callId ?? '', outcome: 'error' }))).toMatchObject({
      ok: false,
    });
  });

  it('G-38, decision 8: events hold a digest and never an argument; content lies apart, masked', async () => {
    const { store, folder } = await setup();
    const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    await judge(store, shellCall(folder, `npm publish --otp 1 --token ${secret}`));
    await store.settled();
    const everything = JSON.stringify([
      await store.read.selectFrom('event').selectAll().execute(),
      await store.read.selectFrom('gate_call').selectAll().execute(),
      await store.read.selectFrom('gate_call_content').selectAll().execute(),
      await store.read.selectFrom('decision_request').selectAll().execute(),
    ]);
    expect(everything).not.toContain(secret);
    const events = JSON.stringify(await store.read.selectFrom('event').select('facts').execute());
    expect(events).not.toContain('publish');
    expect((await listCalls(store.read))[0]?.preview?.text).toContain(
      'npm publish --otp 1 --token [secret, 40 characters]',
    );
  });

  it('a preset that no longer opens takes its approval back; what a human approved stays', async () => {
    const { store, folder } = await setup();
    const opened = policyOf({ instance: { rules: [{ effect: 'allow', command: ['make', 'lint'] }] } });
    const call = shellCall(folder, 'make lint');
    const { capabilityId = '' } = await judge(store, call, opened);
    expect(await readCapability(store.read, capabilityId)).toMatchObject({
      status: 'approved',
      decidedBy: 'rule:instance:1',
    });
    expect(await judge(store, call)).toMatchObject({ decision: 'ask' });
    expect(await readCapability(store.read, capabilityId)).toMatchObject({ status: 'blocked' });
    expect(await judge(store, call, opened)).toMatchObject({ decision: 'allow' });
    mustOk(await store.tx((tx) => refuseCapability(tx, { ...human, hasFreshProof: true, capabilityId })));
    expect(await judge(store, call, opened)).toMatchObject({ decision: 'refuse', reason: 'capability_refused' });
  });

  it('a request without arguments asks once and never for good', async () => {
    const { store, folder } = await setup();
    const call = callOf(folder, 'execute', undefined, { tool: { kind: 'execute', title: 'npm test' } });
    const asked = await judge(store, call);
    expect(asked).toMatchObject({ decision: 'ask', reason: 'raw_input_missing' });
    expect(
      await store.tx((tx) => approveCallForGood(tx, { ...human, callId: asked.callId ?? '', hasFreshProof: true })),
    ).toMatchObject({
      refusal: { code: 'not_standing' },
    });
  });
});
