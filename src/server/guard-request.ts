import { randomUUID } from 'node:crypto';

import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';

import type { Refusal } from '../kernel/index.ts';
import type { Credentials } from '../app/index.ts';
import { isMutation } from '../wire/index.ts';
import type { ApiEnv, ApiParts } from './parts.ts';
import { problemOf, problemResponse } from './problem.ts';

/** Nothing is loaded from elsewhere, nothing is run inline, nobody may frame the console. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers on every answer. There is no CORS header anywhere: other origins get nothing (design 4 "HTTP"). */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Name of the console's cookie: with the port in it, since cookies do not know ports. */
export function cookieNameOf(port: number): string {
  return `chantier_${port}`;
}

/** Gives each request an id and each answer the security headers. */
export const labelRequest: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const requestId = randomUUID();
  c.set('requestId', requestId);
  await next();
  for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
  c.res.headers.set('request-id', requestId);
  if (c.req.path.startsWith('/api/') && !c.res.headers.has('cache-control'))
    c.res.headers.set('cache-control', 'no-store');
};

/** Refuses what a page of another origin, or a name that was rebound to us, could send (421 and 403), with an event each. */
export function guardBrowser(parts: ApiParts): MiddlewareHandler<ApiEnv> {
  const refuse = async (c: Context<ApiEnv>, refusal: Refusal, status: number): Promise<Response> => {
    // Who asks is not looked up: such a request shall not even keep a log-in alive.
    const identity = await parts.access.identify({ door: c.env.door });
    await parts.access.recordRefusal({ identity, door: c.env.door, route: 'unknown', code: refusal.code });
    return problemResponse(problemOf(refusal, undefined, status));
  };
  return async (c, next) => {
    if (c.env.door !== 'tcp') return next();
    const host = c.req.header('host') ?? '';
    if (!ownHosts(c.env.port).includes(host.toLowerCase())) {
      const message = `This server does not answer for that host; use 127.0.0.1:${c.env.port}.`;
      return refuse(c, { kind: 'not-permitted', code: 'unknown_host', message }, 421);
    }
    const message = originFault(c);
    return message === undefined ? next() : refuse(c, { kind: 'not-permitted', code: 'cross_origin', message }, 403);
  };
}

function originFault(c: Context<ApiEnv>): string | undefined {
  if (c.req.header('authorization') !== undefined) return undefined;
  const site = c.req.header('sec-fetch-site');
  const isApi = c.req.path.startsWith('/api/');
  if (!isMutation(c.req.method)) {
    return isApi && site !== undefined && site !== 'same-origin' && site !== 'none'
      ? 'Pages of another origin read nothing here.'
      : undefined;
  }
  const origin = c.req.header('origin') ?? '';
  if (
    !ownHosts(c.env.port).some((host) => origin === `http://${host}`) ||
    origin !== `http://${c.req.header('host')}`
  ) {
    return 'A change needs the Origin of this server.';
  }
  if (site !== 'same-origin') return 'A change needs Sec-Fetch-Site: same-origin.';
  return undefined;
}

function ownHosts(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

/** Finds out who asks. What cannot be believed counts as nobody and is judged by the table of rights. */
export function identifyCaller(parts: ApiParts): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    c.set('identity', await parts.access.identify(credentialsOf(c)));
    c.set('cookieName', cookieNameOf(c.env.port));
    await next();
  };
}

/** Whether the caller of a request that goes on is still who it was; asking keeps no log-in alive. */
export async function isStillCaller(parts: ApiParts, c: Context<ApiEnv>): Promise<boolean> {
  const { proof: _, ...credentials } = credentialsOf(c);
  const was = c.get('identity');
  const is = await parts.access.identify({ ...credentials, isUse: false });
  return is.principal === was.principal && is.id === was.id && is.flaw === undefined;
}

function credentialsOf(c: Context<ApiEnv>): Credentials {
  const authorization = c.req.header('authorization');
  const bearer =
    authorization === undefined ? undefined : (/^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1] ?? '');
  const cookie = getCookie(c, cookieNameOf(c.env.port));
  return { door: c.env.door, sessions: c.env.sessions, bearer, cookie, proof: c.req.header('chantier-proof') };
}
