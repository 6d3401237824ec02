import { ok, refuse, toRfc3339 } from '../../kernel/index.ts';
import {
  approveCapability,
  type CallView as DomainCall,
  type Capability,
  listCalls,
  listCapabilities,
  readCapability,
  refuseCapability,
} from '../../gate/index.ts';
import type { CapabilityDetail, CapabilityView } from '../../wire/index.ts';
import { requireProof } from '../access/index.ts';
import type { GateUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';
import { phaseOf } from '../instance/phase-of.ts';
import { once } from '../once.ts';
import { momentOf } from '../work/views.ts';

/** Capabilities and their standing decisions (G-19, G-21). */
export function gateUseCases(ctx: AppContext): GateUseCases {
  const db = ctx.store.read;
  return {
    async listCapabilities(_caller, query) {
      const all = await listCapabilities(db, {
        limit: 500,
        ...(query.status === undefined ? {} : { status: query.status as Capability['status'] }),
      });
      const from = query.cursor === undefined ? 0 : all.findIndex((one) => one.id === query.cursor) + 1;
      const items = all.slice(from, from + query.limit).map(capabilityView);
      return ok({ items, nextCursor: from + query.limit < all.length ? (items.at(-1)?.id ?? null) : null });
    },
    async showCapability(_caller, id) {
      const found = await readCapability(db, id);
      if (!found) return refuse('not-found', 'unknown_capability', `unknown id ${id}`, { id });
      const calls = await listCalls(db, { capabilityId: id, limit: 50 });
      const detail: CapabilityDetail = {
        ...capabilityView(found),
        definition: found.definition,
        calls: calls.map(callView),
      };
      return ok(detail);
    },
    async decideCapability(caller, id, verdict) {
      const found = await readCapability(db, id);
      if (!found) return refuse('not-found', 'unknown_capability', `unknown id ${id}`, { id });
      const isPrivilegedYes = verdict.verdict === 'approve' && found.tier === 'privileged';
      const proof = requireProof(caller, isPrivilegedYes ? 'approve-privileged-capability' : 'decide');
      if (!proof.ok) return proof;
      const decided = await once(ctx.store, caller, 'capability.decide', { id, verdict }, async (tx) => {
        const decision = {
          capabilityId: id,
          actor: caller.actor,
          phase: phaseOf(ctx),
          hasFreshProof: caller.proof === 'fresh',
          ...(verdict.note === undefined ? {} : { note: verdict.note }),
        };
        const result =
          verdict.verdict === 'approve' ? await approveCapability(tx, decision) : await refuseCapability(tx, decision);
        return result.ok ? ok({ id }) : result;
      });
      if (!decided.ok) return decided;
      const after = await readCapability(db, id);
      return after ? ok(capabilityView(after)) : refuse('not-found', 'unknown_capability', `unknown id ${id}`, { id });
    },
  };
}

function capabilityView(capability: Capability): CapabilityView {
  return {
    id: capability.id,
    type: capability.type,
    name: capability.name,
    server: capability.serverLabel ?? capability.server,
    version: capability.version,
    tier: capability.tier,
    status: capability.status,
    expiresAt: momentOf(capability.expiresAt),
    execCount: capability.execCount,
    commitLink: capability.commitLink,
    docLink: capability.docLink,
    decidedBy: capability.decidedBy,
    decidedAt: momentOf(capability.decidedAt),
    decisionNote: capability.decisionNote,
    createdAt: toRfc3339(capability.createdAt),
  };
}

const verdicts: Readonly<Record<DomainCall['state'], CapabilityDetail['calls'][number]['verdict']>> = {
  allowed: 'allow',
  spent: 'allow',
  approved: 'allow',
  waiting: 'waiting',
  refused: 'refuse',
  denied: 'refuse',
  expired: 'refuse',
  void: 'refuse',
};

function callView(call: DomainCall): CapabilityDetail['calls'][number] {
  return {
    id: call.id,
    capabilityId: call.capabilityId,
    sessionId: call.sessionId,
    verdict: verdicts[call.state],
    reason: call.reason,
    preview: call.preview as never,
    outcome: call.outcome,
    createdAt: toRfc3339(call.createdAt),
    endedAt: momentOf(call.endedAt),
  };
}
