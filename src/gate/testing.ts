import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { type Actor, mustOk } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import type { GateCall, Judgement, ToolKind } from './call.ts';
import { judgeCall } from './judge-call.ts';
import { loadPolicy, type PolicySources } from './load-policy.ts';
import type { GatePolicy } from './policy.ts';
import { prepareCall } from './prepare-call.ts';

/** A human at the console. */
export const operator: Actor = { kind: 'operator', id: 'olga', channel: 'console' };
/** An agent's session. */
export const agentSession: Actor = { kind: 'session', id: 's1', generation: 1 };

/** A policy of the given sources; phase 3, preset `workspace`, no allowed hosts unless said. */
export function policyOf(sources: Partial<PolicySources> = {}): GatePolicy {
  return mustOk(loadPolicy({ phase: 3, allowedHosts: [], ...sources }));
}

/** A fresh work folder with `src/` and `.git/`, removed after the test. */
export function makeWorkFolder(): string {
  const root = mkdtempSync(join(tmpdir(), 'chantier-gate-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'clone');
  mkdirSync(join(folder, 'src'), { recursive: true });
  mkdirSync(join(folder, '.git'));
  return folder;
}

/** A call of session `s1`; `extra` replaces members. */
export function callOf(
  workFolder: string,
  kind: ToolKind,
  rawInput: GateCall['rawInput'],
  extra: Partial<GateCall> = {},
): GateCall {
  return {
    sessionId: 's1',
    generation: 1,
    role: 'author',
    agent: 'turing',
    tool: { kind, name: kind, title: `a ${kind}` },
    ...(rawInput === undefined ? {} : { rawInput }),
    locations: [],
    cwd: workFolder,
    workFolder,
    sandboxHolds: false,
    ...extra,
  };
}

/** A call that runs a shell command. */
export function shellCall(workFolder: string, command: string, extra: Partial<GateCall> = {}): GateCall {
  return callOf(workFolder, 'execute', { command }, extra);
}

/** A call of a tool of an MCP server. */
export function serverCall(
  workFolder: string,
  tool: { name: string; annotations?: object; isTrusted?: boolean },
  rawInput: GateCall['rawInput'] = {},
): GateCall {
  return callOf(workFolder, 'other', rawInput, {
    tool: { kind: 'other', name: tool.name, title: tool.name },
    server: {
      identity: 'id-of-server',
      label: 'tracker',
      isTrusted: tool.isTrusted ?? true,
      definition: { name: tool.name, ...(tool.annotations ? { annotations: tool.annotations as never } : {}) },
    },
  });
}

/** Judges a call in its own transaction, as a door does. */
export function judge(store: Store, call: GateCall, policy: GatePolicy = policyOf()): Promise<Judgement> {
  const prepared = prepareCall(call, policy);
  return store.tx((tx) => judgeCall(tx, prepared));
}

/** Kinds of all sequenced events, in order. */
export async function eventKindsOf(store: Store): Promise<string[]> {
  await store.settled();
  const rows = await store.read
    .selectFrom('event')
    .select('kind')
    .where('seq', 'is not', null)
    .orderBy('seq')
    .execute();
  return rows.map((row) => row.kind);
}
