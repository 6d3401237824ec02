import type { Context } from 'hono';

import type { ApiEnv } from './parts.ts';
import { problemOf, problemResponse } from './problem.ts';

/** The largest body of a request. */
const maxBodyBytes = 4 * 1024 * 1024;

/** Reads a JSON body of at most 4 MiB; an absent one counts as `{}`. Gives the answer that refuses anything else. */
export async function readJsonBody(c: Context<ApiEnv>): Promise<{ value: unknown } | Response> {
  const declared = Number(c.req.header('content-length') ?? 0);
  if (declared > maxBodyBytes) return tooLarge();
  const bytes = await readBounded(c.req.raw.body);
  if (bytes === undefined) return tooLarge();
  if (bytes.length === 0) return { value: {} };
  const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    return problemResponse(
      problemOf(
        { kind: 'invalid', code: 'not_json', message: 'The body has to be JSON, with Content-Type: application/json.' },
        undefined,
        415,
      ),
    );
  }
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch (error) {
    return problemResponse(
      problemOf(
        { kind: 'invalid', code: 'not_json', message: `The body is not JSON: ${(error as Error).message}` },
        undefined,
        400,
      ),
    );
  }
}

async function readBounded(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array | undefined> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): Response {
  return problemResponse(
    problemOf({ kind: 'invalid', code: 'body_too_large', message: 'The body has more than 4 MiB.' }, undefined, 413),
  );
}
