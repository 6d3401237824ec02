import { z } from 'zod';

import * as wire from '../wire/index.ts';
import type { Api } from './route.ts';

/** Gives every named view of `wire` its name in the document. */
function nameSchemas(): void {
  for (const [name, schema] of Object.entries(wire)) {
    if (!(schema instanceof z.ZodObject) || z.globalRegistry.has(schema) || name.endsWith('Query')) continue;
    z.globalRegistry.add(schema, { id: name.charAt(0).toUpperCase() + name.slice(1) });
  }
}

/** The OpenAPI 3.1 document of the API; each named schema stands in it once. */
export function openApiDocument(api: Api, version: string): object {
  nameSchemas();
  const document = api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Chantier',
      version,
      description:
        'The API of a Chantier instance. Errors are problem bodies (RFC 9457) with a stable `code`; every change takes an `Idempotency-Key`; lists are paged by `cursor`.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:4747' }],
  });
  const schemas: Record<string, unknown> = {};
  const paths = hoist(document.paths, schemas);
  const sorted = Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, components: { schemas: sorted }, paths };
}

/** Moves each schema with a name into `schemas` and leaves a reference; the generator writes the names but not the references. */
function hoist(node: unknown, schemas: Record<string, unknown>): unknown {
  // The generator leaves the flag of a pattern in it; JSON Schema reads patterns with that flag anyway.
  if (typeof node === 'string' && node.endsWith('$/u')) return node.slice(0, -2);
  if (Array.isArray(node)) return node.map((item) => hoist(item, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const { id: name, ...rest } = node as Record<string, unknown>;
  const isNamedSchema = typeof name === 'string' && 'type' in rest;
  const moved = Object.fromEntries(
    Object.entries(isNamedSchema ? rest : node).map(([key, value]) => [key, hoist(value, schemas)]),
  );
  if (!isNamedSchema) return moved;
  schemas[name] ??= moved;
  return { $ref: `#/components/schemas/${name}` };
}
