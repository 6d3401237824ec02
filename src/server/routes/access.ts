import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';

import { logInTtlMs } from '../../app/index.ts';
import { ok, refuse } from '../../kernel/index.ts';
import {
  firstRunLink,
  firstRunRequest,
  logInRequest,
  logInView,
  newUser,
  proofRequest,
  proofView,
  unlockView,
  userView,
  whoamiView,
} from '../../wire/index.ts';
import type { ApiEnv, ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Who is there, log-in, proofs, first run, users. */
export function addAccessRoutes(api: Api, parts: ApiParts): void {
  const { access } = parts;
  addRoute(
    api,
    parts,
    'GET /api/whoami',
    { summary: 'Who the server takes the caller for', answer: whoamiView },
    async (_input, c) => {
      const identity = c.get('identity');
      return ok({
        principal: identity.principal,
        id: identity.id,
        proof: identity.proof,
        hasOperator: await access.hasOperator(),
        sandboxHolds: parts.app.instance.sandbox().holds,
      });
    },
  );
  addRoute(
    api,
    parts,
    'POST /api/first-run',
    {
      summary: 'Set the first passphrase, by the one-use link or at the terminal',
      body: firstRunRequest,
      answer: userView,
      status: 201,
    },
    async ({ body }, c) => {
      if (c.get('identity').principal === 'operator-cli') return access.addFirstOperator(body);
      if (body.secret === undefined)
        return refuse('not-permitted', 'no_first_run_link', 'The link of the first run is missing.');
      return access.claimFirstRun({ ...body, secret: body.secret });
    },
  );
  addRoute(
    api,
    parts,
    'POST /api/first-run-links',
    { summary: 'Make the one-use link of the first run', answer: firstRunLink, status: 201 },
    () => access.openFirstRun(),
  );
  addRoute(
    api,
    parts,
    'POST /api/log-ins',
    { summary: 'Log in at the console', body: logInRequest, answer: logInView, status: 201 },
    async ({ body }, c) => {
      const result = await access.logIn(body);
      if (!result.ok) return result;
      setLogInCookie(c, result.value.cookie);
      return ok(result.value.view);
    },
  );
  addRoute(
    api,
    parts,
    'DELETE /api/log-ins/current',
    { summary: 'Log out', answer: z.object({ ended: z.boolean() }) },
    async (_input, c) => {
      await access.logOut(c.get('identity'));
      deleteCookie(c, c.get('cookieName'), { path: '/' });
      return ok({ ended: true });
    },
  );
  addProofRoutes(api, parts);
  addRoute(api, parts, 'GET /api/users', { summary: 'List users', answer: z.array(userView) }, async () =>
    ok(await access.listUsers()),
  );
  addRoute(
    api,
    parts,
    'POST /api/users',
    { summary: 'Add a user', body: newUser, answer: userView, status: 201 },
    ({ body, caller }) => access.addUser(body, caller.actor),
  );
}

function addProofRoutes(api: Api, parts: ApiParts): void {
  const { access } = parts;
  addRoute(
    api,
    parts,
    'POST /api/proofs',
    {
      summary: 'Give the passphrase, get a proof for one decision',
      body: proofRequest,
      answer: proofView,
      status: 201,
    },
    ({ body }, c) =>
      access.giveProof(c.get('identity'), { name: body.operator, passphrase: body.passphrase, door: c.env.door }),
  );
  addRoute(
    api,
    parts,
    'POST /api/unlocks',
    { summary: 'Open the terminal for 8 hours', body: proofRequest, answer: unlockView, status: 201 },
    ({ body }) => access.unlock({ name: body.operator, passphrase: body.passphrase }),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/unlocks',
    { summary: 'Close every open terminal', answer: z.object({ ended: z.int() }) },
    async ({ caller }) => ok({ ended: await access.endUnlocks(caller.actor) }),
  );
}

function setLogInCookie(c: Context<ApiEnv>, value: string): void {
  setCookie(c, c.get('cookieName'), value, {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    maxAge: Math.floor(logInTtlMs / 1000),
  });
}
