import type { Logger } from 'pino';

import type { Access, App, Door, Identity } from '../app/index.ts';

/** What the API is built on. */
export interface ApiParts {
  app: App;
  access: Access;
  version: string;
  log: Logger;
  /** Ends the server after the answer has gone out (`PUT /api/instance/shutdown`). */
  onShutdown: () => void;
  /** Aborted when the server stops: streams end themselves. */
  stopping: AbortSignal;
  /** How often a stream looks whether its caller may still follow it, ms; default 15,000. */
  recheckMs?: number;
}

/** What the listeners tell about each request. */
export interface DoorBindings {
  door: Door;
  /** At an agents' door: the sessions whose door it is. */
  sessions?: ReadonlySet<string>;
  /** Port of the TCP listener; 0 on unix sockets. */
  port: number;
}

/** Types of the Hono app. */
export interface ApiEnv {
  Bindings: DoorBindings;
  Variables: { requestId: string; identity: Identity; cookieName: string };
}
