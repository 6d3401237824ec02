import { eventPage, eventQuery } from '../../wire/index.ts';
import { isStillCaller } from '../guard-request.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';
import type { SessionLimits } from '../session-limits.ts';
import { streamEvents } from '../stream-events.ts';

/** The event log, as pages or as a stream. Agents see only their own session. */
export function addEventRoutes(api: Api, parts: ApiParts, limits: SessionLimits): void {
  addRoute(
    api,
    parts,
    'GET /api/events',
    { summary: 'Events: a page, or with Accept: text/event-stream a stream', query: eventQuery, answer: eventPage },
    async ({ caller, query }, c) => {
      const own = caller.actor.kind === 'session' ? { ...query, session: caller.actor.id } : query;
      if (!(c.req.header('accept') ?? '').includes('text/event-stream')) return parts.app.instance.events(caller, own);
      const lastId = c.req.header('last-event-id') ?? c.req.query('after');
      const place = limits.take(caller, 'stream');
      if (!place.ok) return place;
      return streamEvents(parts, caller, own, lastId, { stillMay: () => isStillCaller(parts, c), onEnd: place.value });
    },
  );
}
