import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { z } from 'zod';

import type { Caller } from '../app/index.ts';
import { digestOf, idempotencyKeyPattern, type Json, type Refusal, type Result } from '../kernel/index.ts';
import { isMutation, problem, rightOf, type RouteName } from '../wire/index.ts';
import { refuseUnlessRight, refuseWithEvent } from './authorise.ts';
import type { ApiEnv, ApiParts } from './parts.ts';
import { problemOf, problemResponse } from './problem.ts';
import { readJsonBody } from './read-body.ts';

export type Api = OpenAPIHono<ApiEnv>;

type Schema = z.ZodType | undefined;
type Parsed<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;

/** What a route takes and gives, for the parser and for OpenAPI. */
export interface RouteSpec<P extends Schema, Q extends Schema, B extends Schema> {
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  /** Schema of the answer; absent where the handler answers by itself. */
  answer?: z.ZodType;
  /** Media type of an answer that is not JSON, for OpenAPI. */
  mediaType?: string;
  status?: 200 | 201 | 202;
  /** The use case judges the idempotency key itself, after other guards (S-17, S-18). */
  keyIsJudgedInside?: true;
}

/** What a handler gets: everything parsed, the caller from the credential. */
export interface RouteInput<P extends Schema, Q extends Schema, B extends Schema> {
  params: Parsed<P>;
  query: Parsed<Q>;
  body: Parsed<B>;
  caller: Caller;
}

/**
 * Registers one route: rights, idempotency key, parsing, one-use proof, then one use case. Throws `Error` when the table of
 * rights has no entry for it.
 */
export function addRoute<P extends Schema = undefined, Q extends Schema = undefined, B extends Schema = undefined>(
  api: Api,
  parts: ApiParts,
  name: RouteName,
  spec: RouteSpec<P, Q, B>,
  handle: (input: RouteInput<P, Q, B>, c: Context<ApiEnv>) => Promise<Result<unknown> | Response>,
): void {
  const right = rightOf(name);
  const [method, path] = name.split(' ') as [string, string];
  const needsKey = isMutation(method) && !right.withoutKey;
  describeRoute(api, method, path, spec, needsKey);

  api.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), async (c) => {
    const refused = await refuseUnlessRight(parts, c, name);
    if (refused) return refused;
    const key = c.req.header('idempotency-key') ?? '';
    if (needsKey && !spec.keyIsJudgedInside && !idempotencyKeyPattern.test(key)) return keyMissing();
    const input = await parseInput(c, spec, method);
    if (input instanceof Response) return input;

    const identity = c.get('identity');
    if (isMutation(method)) {
      const usedFor = digestOf({ method, path: c.req.path, key, body: (input.body ?? null) as Json });
      const spent = await parts.access.spendProof(identity, usedFor);
      if (!spent.ok) return refuseWithEvent(parts, c, name, spent.refusal);
    }
    const caller: Caller = {
      actor: identity.actor,
      proof: identity.proof,
      scope: identity.scope,
      idempotencyKey: key,
      signal: c.req.raw.signal,
    };
    const result = await handle({ ...input, caller } as RouteInput<P, Q, B>, c);
    if (result instanceof Response) return result;
    if (result.ok) return c.json((result.value ?? null) as Json, spec.status ?? 200);
    if (result.refusal.kind === 'not-permitted' || result.refusal.kind === 'proof-required') {
      return refuseWithEvent(parts, c, name, result.refusal);
    }
    return refusalResponse(result.refusal);
  });
}

/** A refusal of a use case as an answer; waiting ones say for how long. */
export function refusalResponse(refusal: Refusal): Response {
  const wait = refusal.facts?.retry_after_s;
  return problemResponse(problemOf(refusal), typeof wait === 'number' ? { 'retry-after': String(wait) } : {});
}

function keyMissing(): Response {
  return problemResponse(
    problemOf({
      kind: 'invalid',
      code: 'idempotency_key_malformed',
      message:
        'A change needs the header Idempotency-Key: 1 to 128 letters, digits, dots, colons, dashes or underscores.',
    }),
  );
}

async function parseInput<P extends Schema, Q extends Schema, B extends Schema>(
  c: Context<ApiEnv>,
  spec: RouteSpec<P, Q, B>,
  method: string,
): Promise<{ params: unknown; query: unknown; body: unknown } | Response> {
  const errors: { path: string; message: string }[] = [];
  const check = (schema: z.ZodType | undefined, value: unknown, place: string): unknown => {
    if (!schema) return undefined;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues.slice(0, 20)) {
      errors.push({ path: [place, ...issue.path.map(String)].join('.'), message: issue.message });
    }
    return undefined;
  };
  let given: unknown;
  if (spec.body && isMutation(method)) {
    const body = await readJsonBody(c);
    if (body instanceof Response) return body;
    given = body.value;
  }
  const input = {
    params: check(spec.params, c.req.param(), 'path'),
    query: check(spec.query, c.req.query(), 'query'),
    body: check(spec.body, given, 'body'),
  };
  if (errors.length === 0) return input;
  const first = errors[0]!;
  const message = `${first.path} is not valid: ${first.message}${errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''}.`;
  return problemResponse(problemOf({ kind: 'invalid', code: 'invalid_request', message }, errors));
}

function describeRoute(
  api: Api,
  method: string,
  path: string,
  spec: RouteSpec<Schema, Schema, Schema>,
  needsKey: boolean,
): void {
  const key = { name: 'Idempotency-Key', in: 'header' as const, required: true, schema: { type: 'string' as const } };
  const content = spec.answer
    ? { 'application/json': { schema: spec.answer } }
    : { [spec.mediaType ?? 'application/json']: {} };
  const problemContent = { 'application/problem+json': { schema: problem } };
  api.openAPIRegistry.registerPath({
    method: method.toLowerCase() as 'get',
    path,
    summary: spec.summary,
    tags: [path.split('/')[2] ?? 'server'],
    request: {
      ...(spec.params ? { params: spec.params as z.ZodObject } : {}),
      ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
      ...(spec.body ? { body: { content: { 'application/json': { schema: spec.body } } } } : {}),
    },
    ...(needsKey ? { parameters: [key] } : {}),
    responses: {
      [spec.status ?? 200]: { description: 'Done', content: content },
      default: { description: 'Refused or failed', content: problemContent },
    },
  });
}
