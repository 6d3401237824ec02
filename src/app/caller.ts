import type { Actor } from '../kernel/index.ts';

/** How strong the human proof is that came with a request (design 4). `fresh`: the passphrase was given for this one act. */
export type ProofStrength = 'none' | 'standing' | 'fresh';

/** Who calls a use case, and with what. Built by the edges from the credential, never from the body of a request. */
export interface Caller {
  actor: Actor;
  proof: ProofStrength;
  /** Whose idempotency keys these are: keys of different principals never meet. */
  scope: string;
  /** Given with every mutation. */
  idempotencyKey: string;
  /** Ends when the client has gone away; long waits listen to it. */
  signal?: AbortSignal;
}
