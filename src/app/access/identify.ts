import { type Actor, sameSecret } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { PrincipalKind } from '../../wire/index.ts';
import type { ProofStrength } from '../caller.ts';
import { findLogIn } from './console-sessions.ts';
import { findProof } from './proofs.ts';
import { hashSecret } from './secrets.ts';
import { useUnlock } from './unlock.ts';

/** The door a request came in by: TCP on loopback, the operator CLI's socket, or an agents' door. */
export type Door = 'tcp' | 'operator-socket' | 'bridge';

/** What a request brought along; nothing of it is believed yet. */
export interface Credentials {
  door: Door;
  /** At an agents' door: the sessions whose door it is. Their tokens work there and no others. */
  sessions?: ReadonlySet<string> | undefined;
  /** The token of `Authorization: Bearer …`. */
  bearer?: string | undefined;
  /** Value of the console's cookie; not looked at when there is a bearer token. */
  cookie?: string | undefined;
  /** Value of the header `Chantier-Proof`. */
  proof?: string | undefined;
  /** False when only asked whether the credential is still good: then it does not count as a use. Default true. */
  isUse?: boolean;
}

/** Who a request comes from. */
export interface Identity {
  principal: PrincipalKind;
  /** Id of the user or session; `operator-cli`; or empty. */
  id: string;
  actor: Actor;
  scope: string;
  proof: ProofStrength;
  /** The one-use proof behind `proof: 'fresh'`; spent before the use case runs. */
  oneUseProof?: string;
  /** The log-in behind the cookie. */
  logInId?: string;
  /** Set when a credential came that is not good here; the reason is a code for the event. */
  flaw?: 'bad_credential' | 'wrong_door' | 'bad_proof';
}

/** A living session by the hash of its token; `undefined` when no generation that lives has it. */
export type LookUpSession = (
  tokenHash: string,
) => Promise<{ sessionId: string; generation: number; role: 'author' | 'reviewer' | 'qa' } | undefined>;

export interface IdentifyParts {
  store: Store;
  operatorToken: string;
  lookUpSession: LookUpSession;
}

/** Finds out who a request comes from. Each kind of credential works at its own door only; a wrong one counts as none. */
export async function identify(parts: IdentifyParts, credentials: Credentials): Promise<Identity> {
  if (credentials.bearer !== undefined) return identifyBearer(parts, credentials, credentials.bearer);
  if (credentials.cookie !== undefined && credentials.door === 'tcp') {
    return identifyCookie(parts, credentials, credentials.cookie);
  }
  return nobody();
}

async function identifyBearer(parts: IdentifyParts, credentials: Credentials, bearer: string): Promise<Identity> {
  if (sameSecret(bearer, parts.operatorToken)) {
    if (credentials.door === 'bridge') return nobody('wrong_door');
    return identifyOperatorCli(parts, credentials);
  }
  const session = await parts.lookUpSession(hashSecret(bearer));
  if (!session) return nobody('bad_credential');
  const identity: Identity = {
    principal: session.role,
    id: session.sessionId,
    actor: { kind: 'session', id: session.sessionId, generation: session.generation },
    scope: `session:${session.sessionId}:${session.generation}`,
    proof: 'none',
  };
  // A token that leaked to another session is worth nothing there (design section 4).
  const isOwnDoor = credentials.door === 'bridge' && credentials.sessions?.has(session.sessionId) === true;
  return isOwnDoor ? identity : { ...identity, flaw: 'wrong_door' };
}

async function identifyOperatorCli(parts: IdentifyParts, credentials: Credentials): Promise<Identity> {
  const identity: Identity = {
    principal: 'operator-cli',
    id: 'operator-cli',
    actor: { kind: 'operator-cli', id: 'operator-cli' },
    scope: 'operator-cli',
    proof: 'none',
  };
  if (credentials.proof === undefined) return identity;
  const oneUse = await findProof(parts.store, credentials.proof);
  const user = oneUse ?? (await useUnlock(parts.store, credentials.proof));
  if (!user) return { ...identity, flaw: 'bad_proof' };
  const actor: Actor = { kind: 'operator', id: user.userId, channel: 'terminal' };
  return oneUse
    ? { ...identity, actor, proof: 'fresh', oneUseProof: credentials.proof }
    : { ...identity, actor, proof: 'standing' };
}

async function identifyCookie(parts: IdentifyParts, credentials: Credentials, cookie: string): Promise<Identity> {
  const user = await findLogIn(parts.store, cookie, credentials.isUse ?? true);
  if (!user) return nobody('bad_credential');
  const identity: Identity = {
    principal: user.role,
    id: user.userId,
    actor:
      user.role === 'operator'
        ? { kind: 'operator', id: user.userId, channel: 'console' }
        : { kind: 'viewer', id: user.userId },
    scope: `user:${user.userId}`,
    proof: 'none',
    logInId: user.logInId,
  };
  if (credentials.proof === undefined || user.role === 'viewer') return identity;
  if (user.proofHash !== null && sameSecret(hashSecret(credentials.proof), user.proofHash)) {
    return { ...identity, proof: 'standing' };
  }
  const oneUse = await findProof(parts.store, credentials.proof);
  if (oneUse?.userId === user.userId) return { ...identity, proof: 'fresh', oneUseProof: credentials.proof };
  return { ...identity, flaw: 'bad_proof' };
}

function nobody(flaw?: Identity['flaw']): Identity {
  return {
    principal: 'anyone',
    id: '',
    actor: { kind: 'system', id: 'unknown-caller' },
    scope: 'anyone',
    proof: 'none',
    ...(flaw ? { flaw } : {}),
  };
}
