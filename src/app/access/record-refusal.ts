import type { Json } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { Door, Identity } from './identify.ts';

/** At most this many refusals of one principal become events of their own in a minute; the others are counted into the next. */
const perMinute = 120;
const minuteMs = 60_000;

/** What was refused, as the event tells it: never a body, never a credential. */
export interface RefusedRequest {
  identity: Identity;
  door: Door;
  /** Session whose door it came in by: who really asked, whatever token was shown. */
  doorSession?: string | undefined;
  /** The route's name, or `unknown` for a path that no route has. */
  route: string;
  /** Stable code of the refusal. */
  code: string;
}

/** Gives the function that writes `access.refused` events; a flood of them cannot fill the log. */
export function createRefusalLog(store: Store): (refused: RefusedRequest) => Promise<void> {
  const windows = new Map<string, { startedAt: number; written: number; left: number }>();

  return async ({ identity, door, doorSession, route, code }) => {
    // A session that shows another's token uses up no share of the other's.
    const key = `${identity.principal}:${identity.id}:${doorSession ?? ''}`;
    const now = store.clock.now();
    let window = windows.get(key);
    const leftBefore = window?.left ?? 0;
    if (!window || now - window.startedAt >= minuteMs || now < window.startedAt) {
      if (windows.size > 1000) windows.clear();
      window = { startedAt: now, written: 0, left: 0 };
      windows.set(key, window);
    }
    if (window.written >= perMinute) {
      window.left += 1;
      return;
    }
    window.written += 1;
    const facts: Record<string, Json> = { route, code, principal: identity.principal, door };
    if (doorSession !== undefined) facts.door_session = doorSession;
    if (window.written === 1 && leftBefore > 0) facts.not_listed = leftBefore;
    const sessionId = identity.actor.kind === 'session' ? identity.id : doorSession;
    await store.tx(async (tx) => {
      await tx.emit({
        kind: 'access.refused',
        actor: identity.actor,
        subject: { kind: 'route', id: route },
        ...(sessionId === undefined ? {} : { sessionId }),
        facts,
      });
    });
  };
}
