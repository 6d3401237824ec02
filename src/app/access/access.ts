import { type Actor, ok, type Result, systemActor } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { LogInView, ProofView, UnlockView, UserView } from '../../wire/index.ts';
import { endLogIn, startLogIn } from './console-sessions.ts';
import { claimFirstRun, openFirstRun } from './first-run.ts';
import { type Credentials, type Door, identify, type Identity, type LookUpSession } from './identify.ts';
import { giveProof, spendProof } from './proofs.ts';
import { createRefusalLog, type RefusedRequest } from './record-refusal.ts';
import { endUnlocks, openUnlock } from './unlock.ts';
import { addUser, hasOperator, listUsers, type NewUser, verifyPassphrase } from './users.ts';

/** Who may come in, and what proves a human (design section 4). */
export interface Access {
  /** Whether anybody could decide; no session starts before (design 4). */
  hasOperator(): Promise<boolean>;
  /** A one-use secret for setting the first passphrase by a link; lives 10 min. Refuses when an operator exists. */
  openFirstRun(): Promise<Result<{ secret: string; expiresAt: string }>>;
  claimFirstRun(claim: { secret: string; name: string; passphrase: string }): Promise<Result<UserView>>;
  /** Sets the first operator at the terminal of the machine. Refuses `wrong-state` when there is one. */
  addFirstOperator(user: { name: string; passphrase: string }): Promise<Result<UserView>>;
  addUser(user: NewUser, actor: Actor): Promise<Result<UserView>>;
  listUsers(): Promise<UserView[]>;
  /** Log-in at the console: the cookie's value and what the tab keeps in memory. */
  logIn(attempt: { name: string; passphrase: string }): Promise<Result<{ cookie: string; view: LogInView }>>;
  logOut(identity: Identity): Promise<void>;
  /** A proof for one decision, for the passphrase. A console user can only give their own. */
  giveProof(
    identity: Identity,
    attempt: { name?: string | undefined; passphrase: string; door: Door },
  ): Promise<Result<ProofView>>;
  /** Opens a terminal for 8 h. Refuses `wrong-state` while the sandbox does not hold. */
  unlock(attempt: { name?: string | undefined; passphrase: string }): Promise<Result<UnlockView>>;
  endUnlocks(actor: Actor): Promise<number>;
  identify(credentials: Credentials): Promise<Identity>;
  /** Spends the one-use proof that came with a request; others pass. `usedFor` is the digest of the one request. */
  spendProof(identity: Identity, usedFor: string): Promise<Result<undefined>>;
  /** Writes the event `access.refused`. */
  recordRefusal(refused: RefusedRequest): Promise<void>;
}

/** Parts that access needs from outside. */
export interface AccessParts {
  store: Store;
  /** What `ensureOperatorToken` gave. */
  operatorToken: string;
  /** Finds the living session of a token's hash; the sessions' domain has it. */
  lookUpSession: LookUpSession;
  /** Whether "no agent can decide" is true now; `unlock` is off while it is not. */
  sandboxHolds: () => boolean;
  /** log2 of scrypt's N for new passphrases; default 15. Only tests take less. */
  passphraseCost?: number;
}

/** Puts the parts of access together. */
export function createAccess(parts: AccessParts): Access {
  const { store, passphraseCost: cost } = parts;
  const recordRefusal = createRefusalLog(store);

  const verified = async (attempt: { name?: string | undefined; passphrase: string; way: string }) => {
    const user = await verifyPassphrase(store, attempt);
    // Attempts that had to wait leave no event: a flood of them cannot fill the log.
    if (!user.ok && user.refusal.code === 'wrong_passphrase')
      await recordFailedLogIn(store, attempt.way, user.refusal.code);
    return user;
  };

  return {
    hasOperator: () => hasOperator(store),
    openFirstRun: () => openFirstRun(store),
    claimFirstRun: (claim) => claimFirstRun(store, claim, cost),
    addFirstOperator: (user) =>
      addUser(
        store,
        { ...user, role: 'operator' },
        { kind: 'operator', id: user.name.toLowerCase(), channel: 'terminal' },
        { firstOnly: true, cost },
      ),
    addUser: (user, actor) => addUser(store, user, actor, { cost }),
    listUsers: () => listUsers(store),
    async logIn(attempt) {
      const user = await verified({ ...attempt, way: 'console' });
      return user.ok ? ok(await startLogIn(store, user.value)) : user;
    },
    async logOut(identity) {
      if (identity.logInId) await endLogIn(store, identity.logInId, identity.actor);
    },
    async giveProof(identity, attempt) {
      const name = identity.principal === 'operator' ? await nameOf(store, identity.id) : attempt.name;
      const user = await verified({ name, passphrase: attempt.passphrase, way: attempt.door });
      if (!user.ok) return user;
      if (user.value.role !== 'operator') return notAnOperator;
      const channel = identity.principal === 'operator' ? 'console' : 'terminal';
      return ok(await giveProof(store, user.value.id, { kind: 'operator', id: user.value.id, channel }));
    },
    async unlock(attempt) {
      const user = await verified({ ...attempt, way: 'operator-socket' });
      if (!user.ok) return user;
      if (user.value.role !== 'operator') return notAnOperator;
      const actor: Actor = { kind: 'operator', id: user.value.id, channel: 'terminal' };
      return openUnlock(store, user.value.id, actor, parts.sandboxHolds());
    },
    endUnlocks: (actor) => endUnlocks(store, actor),
    identify: (credentials) => identify(parts, credentials),
    async spendProof(identity, usedFor) {
      if (identity.oneUseProof === undefined) return ok();
      return spendProof(store, identity.oneUseProof, usedFor, identity.actor);
    },
    recordRefusal,
  };
}

const notAnOperator: Result<never> = {
  ok: false,
  refusal: {
    kind: 'not-permitted',
    code: 'not_an_operator',
    message: 'Only an operator can give proof; this user may read.',
  },
};

async function recordFailedLogIn(store: Store, way: string, code: string): Promise<void> {
  await store.tx(async (tx) => {
    await tx.emit({
      kind: 'access.log-in-failed',
      actor: systemActor('access'),
      subject: { kind: 'way', id: way },
      facts: { code },
    });
  });
}

async function nameOf(store: Store, userId: string): Promise<string | undefined> {
  const row = await store.read.selectFrom('user_account').select('name').where('id', '=', userId).executeTakeFirst();
  return row?.name;
}
