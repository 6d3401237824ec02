import type { Json } from '../../../kernel/index.ts';
import { isRecord, parseAgentJson } from '../read-json.ts';

/** A JSON-RPC id as the other side chose it. */
export type RpcId = number | string;

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** One line of either file, classified. Params and results are the agent's word and are checked where they are used. */
export type RpcFrame =
  | { kind: 'request'; id: RpcId; method: string; params: Record<string, unknown> }
  | { kind: 'notification'; method: string; params: Record<string, unknown> }
  | { kind: 'result'; id: RpcId; result: Record<string, unknown> }
  | { kind: 'error'; id: RpcId; error: RpcError }
  | { kind: 'invalid'; text: string };

/** Our own methods and members live in the reserved name space (extensibility of ACP). */
export const pingMethod = '_chantier/ping';
export const promptIdMember = 'chantier/promptId';

export const methodNotFound = -32601;
export const invalidParams = -32602;
export const authRequired = -32000;
export const requestCancelled = -32800;

const quotedInvalidChars = 500;

/** Classifies one line. Batches and everything that is no JSON-RPC 2.0 message are `invalid`. */
export function parseFrame(line: Buffer): RpcFrame {
  const text = line.toString('utf8');
  const invalid: RpcFrame = { kind: 'invalid', text: text.slice(0, quotedInvalidChars) };
  let value: unknown;
  try {
    value = parseAgentJson(text);
  } catch {
    return invalid;
  }
  if (!isRecord(value)) return invalid;
  const { id, method } = value;
  const params = isRecord(value.params) ? value.params : {};
  if (typeof method === 'string')
    return isId(id) ? { kind: 'request', id, method, params } : { kind: 'notification', method, params };
  if (!isId(id)) return invalid;
  if (isRecord(value.error)) return { kind: 'error', id, error: readError(value.error) };
  if ('result' in value) return { kind: 'result', id, result: isRecord(value.result) ? value.result : {} };
  return invalid;
}

export function requestFrame(id: number, method: string, params: Record<string, Json>): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export function notificationFrame(method: string, params: Record<string, Json>): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

export function resultFrame(id: RpcId, result: Record<string, Json>): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

export function errorFrame(id: RpcId, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

function isId(id: unknown): id is RpcId {
  return typeof id === 'number' || typeof id === 'string';
}

function readError(error: Record<string, unknown>): RpcError {
  return {
    code: typeof error.code === 'number' ? error.code : 0,
    message: typeof error.message === 'string' ? error.message : 'no message',
    data: error.data,
  };
}
