import type { Kysely } from 'kysely';

import { type Actor, type CallId, canonicalJson, type CapabilityId, type DecisionId, newId } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import type { CallState, CallView, PreparedCall } from './call.ts';
import { capabilityIds } from './capability-store.ts';
import type { Capability } from './capability.ts';
import type { CallPreview } from './preview.ts';
import type { GateCallRow } from './rows.ts';

/** The session as the actor of its calls. */
export function callActor(sessionId: string, generation: number): Actor {
  return { kind: 'session', id: sessionId, generation };
}

/** Writes the row of a call. */
export async function insertCall(
  tx: Tx,
  prepared: PreparedCall,
  record: {
    id?: CallId;
    state: CallState;
    reason: string;
    held: readonly { capability: Capability }[];
    bindingDigest: string;
    decisionId?: DecisionId;
    canStand?: boolean;
  },
): Promise<GateCallRow> {
  const { call } = prepared;
  const ids = record.held.map(({ capability }) => capability.id);
  const row: GateCallRow = {
    id: record.id ?? newId<CallId>(),
    session_id: call.sessionId,
    generation: call.generation,
    request_id: call.requestId ?? null,
    agent: call.agent,
    role: call.role,
    project_id: call.projectId ?? null,
    tool_kind: call.tool.kind,
    tool_name: (call.tool.name ?? '').slice(0, 200),
    server: call.server?.identity ?? '',
    capability_id: ids[0] ?? null,
    capability_ids: canonicalJson(ids),
    binding_digest: record.bindingDigest,
    arguments_digest: prepared.argumentsDigest,
    policy_version: prepared.policyVersion,
    state: record.state,
    reason: record.reason,
    can_stand: record.canStand ? 1 : 0,
    decision_id: record.decisionId ?? null,
    count: 1,
    created_at: tx.now,
    expires_at: null,
    decided_by: null,
    decided_at: null,
    spent_at: null,
    outcome: null,
    outcome_at: null,
  };
  await tx.db.insertInto('gate_call').values(row).execute();
  return row;
}

/** Keeps the texts of a call apart from its row, so that they can be erased. */
export async function keepContent(tx: Tx, callId: string, prepared: PreparedCall): Promise<void> {
  await tx.db
    .insertInto('gate_call_content')
    .values({
      call_id: callId,
      preview: canonicalJson(prepared.preview),
      arguments: prepared.maskedArguments ?? null,
      created_at: tx.now,
    })
    .execute();
}

/** The row of a call, held until the transaction ends. */
export async function holdCall(tx: Tx, id: string): Promise<GateCallRow | undefined> {
  let query = tx.db.selectFrom('gate_call').selectAll().where('id', '=', id);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  return query.executeTakeFirst();
}

/** One call with its preview, where that is kept. */
export async function readCall(db: Kysely<Schema>, id: string): Promise<CallView | undefined> {
  const [view] = await viewsOf(db, (query) => query.where('gate_call.id', '=', id), 1);
  return view;
}

/** Calls, newest first; `limit` 1 to 500, default 100. */
export async function listCalls(
  db: Kysely<Schema>,
  filter: { sessionId?: string; capabilityId?: string; state?: CallState; limit?: number } = {},
): Promise<CallView[]> {
  return viewsOf(
    db,
    (query) => {
      let narrowed = query;
      if (filter.sessionId !== undefined) narrowed = narrowed.where('gate_call.session_id', '=', filter.sessionId);
      if (filter.capabilityId !== undefined)
        narrowed = narrowed.where('gate_call.capability_ids', 'like', `%"${filter.capabilityId}"%`);
      if (filter.state !== undefined) narrowed = narrowed.where('gate_call.state', '=', filter.state);
      return narrowed;
    },
    filter.limit ?? 100,
  );
}

type CallQuery = ReturnType<typeof callQuery>;

function callQuery(db: Kysely<Schema>) {
  return db
    .selectFrom('gate_call')
    .leftJoin('gate_call_content', 'gate_call_content.call_id', 'gate_call.id')
    .selectAll('gate_call')
    .select('gate_call_content.preview as preview');
}

async function viewsOf(
  db: Kysely<Schema>,
  narrow: (query: CallQuery) => CallQuery,
  limit: number,
): Promise<CallView[]> {
  const rows = await narrow(callQuery(db))
    .orderBy('gate_call.created_at', 'desc')
    .orderBy('gate_call.id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id as CallId,
    sessionId: row.session_id,
    agent: row.agent,
    toolKind: row.tool_kind,
    toolName: row.tool_name,
    capabilityId: row.capability_id as CapabilityId | null,
    capabilityIds: capabilityIds(row.capability_ids),
    state: row.state,
    reason: row.reason,
    decisionId: row.decision_id as DecisionId | null,
    count: row.count,
    outcome: row.outcome,
    preview: row.preview === null ? null : (JSON.parse(row.preview) as CallPreview),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by,
    endedAt: row.outcome_at,
  }));
}
