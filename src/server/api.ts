import { OpenAPIHono } from '@hono/zod-openapi';

import { refuseWithEvent } from './authorise.ts';
import { boundChanges } from './bound-changes.ts';
import { guardBrowser, identifyCaller, labelRequest } from './guard-request.ts';
import { openApiDocument } from './openapi.ts';
import type { ApiEnv, ApiParts } from './parts.ts';
import { problemOf, problemOfError, problemResponse } from './problem.ts';
import { addRoute, type Api } from './route.ts';
import { addAccessRoutes } from './routes/access.ts';
import { addAgentSideRoutes } from './routes/agent-side.ts';
import { addDecisionRoutes } from './routes/decisions.ts';
import { addNotifyRoutes } from './routes/notify.ts';
import { addEventRoutes } from './routes/events.ts';
import { addHealthRoutes, addInstanceRoutes } from './routes/instance.ts';
import { addRepositoryRoutes } from './routes/repositories.ts';
import { addReviewRoutes } from './routes/review.ts';
import { addSessionRoutes } from './routes/sessions.ts';
import { addWatchedRoutes } from './routes/watched.ts';
import { addWorkRoutes } from './routes/work.ts';
import { createSessionLimits } from './session-limits.ts';

/** What the seven commands answer to an eighth (ERR-05). */
export const unknownCommandText =
  'Unknown command. Available: start, status, escalations, respond, pause, resume, stop';

/** Builds the HTTP application. Throws `Error` when a route has no entry in the table of rights. */
export function buildApi(
  parts: ApiParts,
  serveConsole?: (path: string, request: Request) => Response | undefined,
): Api {
  const api: Api = new OpenAPIHono<ApiEnv>();
  api.use('*', labelRequest, guardBrowser(parts), identifyCaller(parts));
  const limits = createSessionLimits();
  api.use('/api/agent/*', boundChanges(parts, limits));
  addHealthRoutes(api, parts);
  addAccessRoutes(api, parts);
  addWorkRoutes(api, parts);
  addSessionRoutes(api, parts);
  addDecisionRoutes(api, parts);
  addNotifyRoutes(api, parts);
  addReviewRoutes(api, parts);
  addRepositoryRoutes(api, parts);
  addInstanceRoutes(api, parts);
  addEventRoutes(api, parts, limits);
  addAgentSideRoutes(api, parts, limits);
  addWatchedRoutes(api, parts);

  let document: string | undefined;
  addRoute(api, parts, 'GET /api/openapi.json', { summary: 'This document' }, async () => {
    document ??= JSON.stringify(openApiDocument(api, parts.version));
    return new Response(document, { headers: { 'content-type': 'application/json' } });
  });

  api.notFound(async (c) => {
    const { path } = c.req;
    if (!path.startsWith('/api/') && c.env.door === 'tcp') {
      const file = serveConsole?.(path, c.req.raw);
      if (file) return file;
    }
    if (/^\/api\/sessions\/[^/]+\/[^/]+$/.test(path)) {
      return refuseWithEvent(parts, c, 'unknown command', {
        kind: 'invalid',
        code: 'unknown_command',
        message: unknownCommandText,
      });
    }
    const refusal = {
      kind: 'not-found',
      code: 'unknown_route',
      message: `There is no ${c.req.method} ${path} here.`,
    } as const;
    if (c.get('identity').principal === 'anyone') return problemResponse(problemOf(refusal));
    return refuseWithEvent(parts, c, 'unknown', refusal);
  });
  api.onError((error, c) => {
    const requestId = c.get('requestId');
    parts.log.error({ err: error, requestId, method: c.req.method, path: c.req.path }, 'a request failed');
    return problemResponse(problemOfError(error, requestId));
  });
  return api;
}
