import { z } from 'zod';

import * as wire from '../wire/index.ts';
import type { Api } from './route.ts';

/** Gives every named view of `wire` its name in the document, so that it stands there once. */
function nameSchemas(): void {
  for (const [name, schema] of Object.entries(wire)) {
    if (!(schema instanceof z.ZodObject) || z.globalRegistry.has(schema)) continue;
    if (/Query$/.test(name)) continue;
    z.globalRegistry.add(schema, { id: name.charAt(0).toUpperCase() + name.slice(1) });
  }
}

/** The OpenAPI 3.1 document of the API. */
export function openApiDocument(api: Api, version: string): object {
  nameSchemas();
  return api.getOpenAPI31Document({
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
}
