import { type CallId, type DecisionId, newId } from '../kernel/index.ts';
import { openDecision, type Tx } from '../store/index.ts';
import { denialTtlMs, type Judgement, maxOpenCalls, type PreparedCall, type Requirement } from './call.ts';
import { bindingOf, judgementOf } from './answer-call.ts';
import { callActor, insertCall, keepContent } from './call-store.ts';
import type { Capability } from './capability.ts';
import { countRun, moveStatus } from './capability-store.ts';
import { ensureCapability } from './ensure-capability.ts';
import { graceNow } from './grace-clock.ts';
import { messages } from './messages.ts';
import type { GateCallRow } from './rows.ts';
import { spendCall } from './spend-approval.ts';
import { voidCall } from './void-calls.ts';

/** A part of the call with its record as it stands now. */
interface HeldRequirement {
  part: Requirement;
  capability: Capability;
}

/**
 * Decides about a call, counts it and writes its record, all in this transaction (G-10 to G-13): phase, read-only,
 * record, status, expiry, then one answer for the whole call. Nothing is remembered between calls. Never a `Refused`: a
 * refusal is an answer and is kept.
 */
export async function judgeCall(tx: Tx, prepared: PreparedCall): Promise<Judgement> {
  const recorded = prepared.requirements.filter((part) => part.effect !== 'read');
  if (recorded.length === 0) return { decision: 'allow', reason: 'read_only', message: messages.readOnly() };
  const again = await answerAgain(tx, prepared);
  if (again) return again;
  if (prepared.phase === 1) return refuseCall(tx, prepared, [], 'phase', messages.phase());
  const held = await holdAll(tx, recorded);
  const forbidden = await firstForbidden(tx, held);
  if (forbidden) return refuseForbidden(tx, prepared, held, forbidden);
  if (!held.some(needsYes)) return allowCall(tx, prepared, held);
  return askOrSpend(tx, prepared, held);
}

/** The same request once more (after a crash, or a client that repeats): the same answer, without counting again. */
async function answerAgain(tx: Tx, prepared: PreparedCall): Promise<Judgement | undefined> {
  const { sessionId, generation, requestId } = prepared.call;
  if (requestId === undefined) return undefined;
  const row = await tx.db
    .selectFrom('gate_call')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('generation', '=', generation)
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  if (!row) return undefined;
  if (row.arguments_digest !== prepared.argumentsDigest) return mismatch(tx, row);
  if (row.state === 'approved') return spendCall(tx, row, prepared);
  return { ...judgementOf(row), message: messages.again(row.state, row.decision_id) };
}

/** Attack 1: an id that was judged comes again with other arguments. */
async function mismatch(tx: Tx, row: GateCallRow): Promise<Judgement> {
  await tx.emit({
    kind: 'call.mismatch',
    actor: callActor(row.session_id, row.generation),
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    facts: { state: row.state, arguments_digest: row.arguments_digest },
  });
  await voidCall(tx, row, 'mismatch');
  return { ...judgementOf(row), decision: 'refuse', reason: 'mismatch', message: messages.mismatch(row.id) };
}

/** The records of all parts, made where missing and held in one order so that two calls cannot wait for each other. */
async function holdAll(tx: Tx, parts: readonly Requirement[]): Promise<HeldRequirement[]> {
  const keyOf = (part: Requirement): string => {
    const { type = '', server = '', name = '', version = '' } = part.capability ?? {};
    return [type, server, name, version].join('\n');
  };
  const byKey = new Map<string, HeldRequirement>();
  const isOpened = (part: Requirement): boolean => part.effect === 'allow';
  for (const part of parts.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    if (!part.capability) throw new Error(`part ${part.reason} of a call has no capability`);
    const known = byKey.get(keyOf(part));
    // Twice the same capability in one call: the stricter part counts.
    if (known && strictness(known.part) >= strictness(part)) continue;
    const capability =
      known?.capability ?? (await ensureCapability(tx, part.capability, isOpened(part) ? part.source : undefined));
    byKey.set(keyOf(part), { part, capability });
  }
  return [...byKey.values()];
}

const strict = ['read', 'allow', 'provisional', 'tier', 'ask', 'block'] as const;

function strictness(part: Requirement): number {
  return strict.indexOf(part.effect);
}

/** The first record that forbids the call; grace that has run out is ended here, not by the hourly job (G-18). */
async function firstForbidden(tx: Tx, held: HeldRequirement[]): Promise<HeldRequirement | undefined> {
  for (const one of held) {
    const { capability } = one;
    if (capability.status === 'provisional' && (await graceNow(tx)) >= (capability.expiresAt ?? 0)) {
      const blocked = await moveStatus(tx, capability, {
        to: 'blocked',
        actor: { kind: 'system', id: 'gate' },
        reason: 'expired',
      });
      if (!('ok' in blocked)) one.capability = blocked;
    }
  }
  return (
    held.find(({ capability }) => capability.status === 'refused') ??
    held.find(({ part }) => part.effect === 'block') ??
    held.find(({ part, capability }) => part.effect !== 'ask' && capability.status === 'blocked')
  );
}

function capabilitiesOf(held: readonly HeldRequirement[]): Capability[] {
  return held.map(({ capability }) => capability);
}

function needsYes({ part, capability }: HeldRequirement): boolean {
  return part.effect === 'ask' && !(part.isStanding && capability.status === 'approved');
}

async function allowCall(tx: Tx, prepared: PreparedCall, held: readonly HeldRequirement[]): Promise<Judgement> {
  let isFirstRun = false;
  for (const { capability } of held)
    isFirstRun = (await countRun(tx, capability, prepared.call.sessionId)) || isFirstRun;
  const [{ part, capability }] = held as [HeldRequirement];
  const reason = part.effect === 'ask' ? 'standing' : part.reason;
  const row = await insertCall(tx, prepared, {
    state: 'allowed',
    reason,
    held,
    bindingDigest: bindingOf(prepared, capabilitiesOf(held)),
  });
  await emitDecision(tx, 'call.allowed', row, capability);
  return { ...judgementOf(row), message: messages.allowed(), ...(isFirstRun ? { isFirstRun } : {}) };
}

async function refuseForbidden(
  tx: Tx,
  prepared: PreparedCall,
  held: readonly HeldRequirement[],
  by: HeldRequirement,
): Promise<Judgement> {
  const { capability, part } = by;
  await tx.db
    .updateTable('capability')
    .set((eb) => ({ refused_count: eb('refused_count', '+', 1) }))
    .where('id', '=', capability.id)
    .execute();
  const isWaiting = capability.status === 'blocked' && part.effect !== 'block';
  const decisionId = isWaiting ? await askForCapability(tx, prepared, capability) : undefined;
  const reason =
    part.effect === 'block' && capability.status !== 'refused' ? part.reason : `capability_${capability.status}`;
  const message =
    reason === part.reason ? messages.forbidden(part.source, capability) : messages.capability(capability);
  return refuseCall(tx, prepared, [by, ...held.filter((one) => one !== by)], reason, message, decisionId);
}

/** One decision for a capability, however often it is tried (decision 9). */
function askForCapability(tx: Tx, prepared: PreparedCall, capability: Capability): Promise<DecisionId> {
  const { call } = prepared;
  return openDecision(tx, {
    kind: 'capability_approval',
    subject: { kind: 'capability', id: capability.id },
    ...(call.projectId ? { projectId: call.projectId } : {}),
    title: `May ${capability.name}${capability.serverLabel ? ` of ${capability.serverLabel}` : ''} run? (${capability.tier})`,
    detail: {
      capabilityId: capability.id,
      type: capability.type,
      name: capability.name,
      server: capability.serverLabel,
      serverIdentity: capability.server,
      tier: capability.tier,
      version: capability.version,
      definition: capability.definition,
      agent: call.agent,
      sessionId: call.sessionId,
      preview: { ...prepared.preview },
    },
  });
}

async function refuseCall(
  tx: Tx,
  prepared: PreparedCall,
  held: readonly HeldRequirement[],
  reason: string,
  message: string,
  decisionId?: DecisionId,
): Promise<Judgement> {
  const row = await insertCall(tx, prepared, {
    state: 'refused',
    reason,
    held,
    bindingDigest: bindingOf(prepared, capabilitiesOf(held)),
    ...(decisionId ? { decisionId } : {}),
  });
  await keepContent(tx, row.id, prepared);
  await emitDecision(tx, 'call.refused', row, held[0]?.capability);
  return { ...judgementOf(row), message };
}

/** A call that needs a yes of its own: spends one that is there, joins one that waits, or asks. */
async function askOrSpend(tx: Tx, prepared: PreparedCall, held: readonly HeldRequirement[]): Promise<Judgement> {
  const bindingDigest = bindingOf(prepared, capabilitiesOf(held));
  const same = await latestWithBinding(tx, bindingDigest);
  if (same?.state === 'approved') {
    if (tx.now < (same.expires_at ?? 0)) return spendCall(tx, same, prepared);
    await voidCall(tx, same, 'expired');
  }
  if (same?.state === 'waiting') return joinWaiting(tx, same);
  if (same?.state === 'denied' && tx.now < (same.decided_at ?? 0) + denialTtlMs) {
    return refuseCall(tx, prepared, held, 'denied', messages.denied(same.decision_id));
  }
  const { sessionId } = prepared.call;
  const open = await tx.db
    .selectFrom('gate_call')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('session_id', '=', sessionId)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  if (Number(open.count) >= maxOpenCalls)
    return refuseCall(tx, prepared, held, 'too_many_open', messages.tooMany(maxOpenCalls));
  return ask(tx, prepared, held, bindingDigest);
}

async function latestWithBinding(tx: Tx, bindingDigest: string): Promise<GateCallRow | undefined> {
  return tx.db
    .selectFrom('gate_call')
    .selectAll()
    .where('binding_digest', '=', bindingDigest)
    .where('state', 'in', ['waiting', 'approved', 'denied'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function joinWaiting(tx: Tx, row: GateCallRow): Promise<Judgement> {
  await tx.db
    .updateTable('gate_call')
    .set((eb) => ({ count: eb('count', '+', 1) }))
    .where('id', '=', row.id)
    .execute();
  await tx.db
    .updateTable('decision_request')
    .set((eb) => ({ count: eb('count', '+', 1) }))
    .where('id', '=', row.decision_id ?? '')
    .where('state', '=', 'open')
    .execute();
  return { ...judgementOf(row), message: messages.again('waiting', row.decision_id) };
}

async function ask(
  tx: Tx,
  prepared: PreparedCall,
  held: readonly HeldRequirement[],
  bindingDigest: string,
): Promise<Judgement> {
  const { call, preview } = prepared;
  const asking = held.filter(needsYes);
  const canStand = asking.every(({ part }) => part.isStanding);
  const [{ part, capability }] = asking as [HeldRequirement];
  const id = newId<CallId>();
  const decisionId = await openDecision(tx, {
    kind: 'call_approval',
    subject: { kind: 'call', id },
    sessionId: call.sessionId,
    ...(call.projectId ? { projectId: call.projectId } : {}),
    title: `${call.agent} asks: ${preview.text.split('\n')[0] ?? ''}`,
    detail: {
      callId: id,
      reason: part.reason,
      agent: call.agent,
      folder: call.cwd,
      sandboxHolds: call.sandboxHolds,
      canStand,
      isApprovable: preview.isComplete,
      capabilities: asking.map((one) => ({
        id: one.capability.id,
        name: one.capability.name,
        tier: one.capability.tier,
        reason: one.part.reason,
      })),
      preview: { ...preview },
    },
  });
  const ordered = [...asking, ...held.filter((one) => !asking.includes(one))];
  const row = await insertCall(tx, prepared, {
    id,
    state: 'waiting',
    reason: part.reason,
    held: ordered,
    bindingDigest,
    decisionId,
    canStand,
  });
  await keepContent(tx, row.id, prepared);
  await emitDecision(tx, 'call.asked', row, capability);
  return { ...judgementOf(row), message: messages.ask(decisionId, capability) };
}

async function emitDecision(
  tx: Tx,
  kind: 'call.allowed' | 'call.refused' | 'call.asked',
  row: GateCallRow,
  capability: Capability | undefined,
): Promise<void> {
  await tx.emit({
    kind,
    actor: callActor(row.session_id, row.generation),
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    facts: {
      capability_id: capability?.id ?? null,
      version: capability?.version ?? null,
      tier: capability?.tier ?? null,
      status: capability?.status ?? null,
      reason: row.reason,
      arguments_digest: row.arguments_digest,
      policy: row.policy_version,
    },
  });
}
