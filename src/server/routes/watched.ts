import { z } from 'zod';

import { anyId, hookOrder, watchedHook, watchedOutcome, watchedWaitQuery } from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Reports and questions of sessions that people start by hand (design section 7). */
export function addWatchedRoutes(api: Api, parts: ApiParts): void {
  const { watched } = parts.app;
  const request = z.object({ request: anyId });
  addRoute(
    api,
    parts,
    'POST /api/watched-hooks',
    { summary: 'Take what a hook of a session started by hand reports', body: watchedHook, answer: hookOrder },
    ({ caller, body }) => watched.report(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/watched-requests/{request}',
    {
      summary: 'Wait for the answer to what a session started by hand asks',
      params: request,
      query: watchedWaitQuery,
      answer: watchedOutcome,
    },
    (input) => watched.wait(input.caller, input.params.request, input.query.waitMs),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/watched-requests/{request}',
    {
      summary: 'Withdraw such a question: its agent asks in its own terminal',
      params: request,
      answer: z.object({ withdrawn: z.boolean() }),
    },
    (input) => watched.withdraw(input.caller, input.params.request),
  );
}
