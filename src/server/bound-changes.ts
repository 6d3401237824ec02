import type { MiddlewareHandler } from 'hono';

import { isMutation } from '../wire/index.ts';
import { doorSessionOf } from './authorise.ts';
import type { ApiEnv, ApiParts } from './parts.ts';
import { refusalResponse } from './route.ts';
import type { SessionLimits } from './session-limits.ts';

/** Bounds what one session writes, so that no agent fills the log and the store with reports; one event a minute tells of it. */
export function boundChanges(parts: ApiParts, limits: SessionLimits): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const identity = c.get('identity');
    if (!isMutation(c.req.method) || identity.flaw !== undefined) return next();
    const spent = limits.spend(identity.actor);
    if (spent.ok) return next();
    const { code } = spent.refusal;
    if (spent.isWorthTelling)
      await parts.access.recordRefusal({
        identity,
        door: c.env.door,
        doorSession: doorSessionOf(c),
        route: 'any',
        code,
      });
    return refusalResponse(spent.refusal);
  };
}
