import type { Context } from 'hono';

import { type Refusal, refusalOutcomes } from '../kernel/index.ts';
import { judgeRight, type RightVerdict } from '../wire/index.ts';
import type { ApiEnv, ApiParts } from './parts.ts';
import { problemOf, problemResponse } from './problem.ts';

/** Judges a request against the table of rights. Gives the answer that refuses it (and writes its event), or `undefined`. */
export async function refuseUnlessRight(
  parts: ApiParts,
  c: Context<ApiEnv>,
  route: string,
): Promise<Response | undefined> {
  const identity = c.get('identity');
  const refusal =
    identity.flaw === 'wrong_door'
      ? wrongDoor
      : refusalOf(judgeRight(route, identity.principal, identity.proof), identity);
  if (!refusal) return undefined;
  return refuseWithEvent(parts, c, route, refusal);
}

/** Answers with the refusal and writes `access.refused`. */
export async function refuseWithEvent(
  parts: ApiParts,
  c: Context<ApiEnv>,
  route: string,
  refusal: Refusal,
): Promise<Response> {
  const identity = c.get('identity');
  const { door } = c.env;
  await parts.access.recordRefusal({ identity, door, doorSession: doorSessionOf(c), route, code: refusal.code });
  const unknown = identity.principal === 'anyone';
  const status = unknown ? 401 : refusalOutcomes[refusal.kind].status;
  return problemResponse(
    problemOf(refusal, undefined, status),
    unknown ? { 'www-authenticate': 'Bearer realm="chantier"' } : {},
  );
}

/** The session whose door a request came in by; several share the door of older versions. */
export function doorSessionOf(c: Context<ApiEnv>): string | undefined {
  const [only, ...others] = c.env.sessions ?? [];
  return others.length === 0 ? only : undefined;
}

const wrongDoor: Refusal = {
  kind: 'not-permitted',
  code: 'wrong_door',
  message: 'This credential does not work at this door: a session’s token works at the door of its own sandbox only.',
};

function refusalOf(
  verdict: RightVerdict,
  identity: { principal: string; flaw?: string | undefined },
): Refusal | undefined {
  switch (verdict) {
    case 'granted':
      return undefined;
    case 'proof-required':
      return {
        kind: 'proof-required',
        code: identity.flaw === 'bad_proof' ? 'proof_not_accepted' : 'proof_required',
        message:
          identity.flaw === 'bad_proof'
            ? 'The proof that came with this is unknown, too old or of somebody else: give the passphrase again.'
            : 'Only a human decides this: give the passphrase, or open the terminal with "chantier unlock".',
        facts: { proof: 'standing' },
      };
    case 'fresh-proof-required':
      return {
        kind: 'proof-required',
        code: 'fresh_proof_required',
        message: 'This needs the passphrase once more, for this one act.',
        facts: { proof: 'fresh' },
      };
    case 'not-permitted':
      if (identity.principal !== 'anyone') {
        return { kind: 'not-permitted', code: 'not_permitted', message: `Not permitted for ${identity.principal}.` };
      }
      return identity.flaw
        ? {
            kind: 'not-permitted',
            code: identity.flaw,
            message: 'The credential that came with this is not good here.',
          }
        : { kind: 'not-permitted', code: 'no_credential', message: 'Log in first, or use "chantier" at the terminal.' };
  }
}
