import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { DecisionKind } from '../../store/index.ts';
import type { Caller, ProofStrength } from '../caller.ts';

/**
 * Acts for which the passphrase has to be given anew (design 4): trusting a server or repository, lowering a tier or risk, a
 * standing approval of a privileged capability, settings that lower safety, and ship.
 */
export const freshActs = [
  'trust-repository',
  'trust-server',
  'lower-tier',
  'lower-risk',
  'approve-privileged-capability',
  'lower-safety-setting',
  'ship',
] as const;
export type FreshAct = (typeof freshActs)[number];

/** Everything else that decides takes a proof, but an open terminal or the console's own is enough. */
export type DecidingAct = FreshAct | 'decide';

/** How strong a proof the act needs. */
export function proofFor(act: DecidingAct): Exclude<ProofStrength, 'none'> {
  return act === 'decide' ? 'standing' : 'fresh';
}

/** The act that settling a decision of `kind` is. A yes to a privileged capability is fresh only when it stands for good. */
export function actOfDecision(
  kind: DecisionKind,
  verdict: 'approve' | 'refuse' | 'respond',
  facts: { isPrivileged?: boolean; isStanding?: boolean } = {},
): DecidingAct {
  if (verdict !== 'approve') return 'decide';
  if (kind === 'repository_trust') return 'trust-repository';
  if (kind === 'server_trust') return 'trust-server';
  if (kind === 'release') return 'ship';
  const standing = kind === 'capability_approval' || facts.isStanding === true;
  if (standing && facts.isPrivileged === true) return 'approve-privileged-capability';
  return 'decide';
}

/** Refuses `proof-required` when the caller's proof is too weak for `act`. */
export function requireProof(caller: Pick<Caller, 'proof'>, act: DecidingAct): Result<undefined> {
  const needed = proofFor(act);
  if (caller.proof === 'fresh' || (caller.proof === 'standing' && needed === 'standing')) return ok();
  return needed === 'fresh'
    ? refuse('proof-required', 'fresh_proof_required', 'This needs the passphrase once more, for this one act.', {
        proof: 'fresh',
      })
    : refuse(
        'proof-required',
        'proof_required',
        'Only a human decides this: give the passphrase, or open the terminal with "chantier unlock".',
        { proof: 'standing' },
      );
}
