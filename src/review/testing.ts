import { type Actor, mustOk, newId, systemActor } from '../kernel/index.ts';
import type { Store, Tx } from '../store/index.ts';
import { assessRisk } from './assess-risk.ts';
import { bindReviewClaim, claimReview } from './claim-review.ts';
import type { ReviewClaim } from './claim-store.ts';
import type { Topology } from './choose-reviewer.ts';
import { acceptLanding, type LandingRules, offerLanding, startLanding } from './land.ts';
import type { Landing } from './landing.ts';
import { moveHead, type NewHead } from './move-head.ts';
import { type NewPullRequest, openPullRequest } from './open-pull-request.ts';
import type { PullRequest } from './pull-request.ts';
import { readPullRequest } from './pull-request-store.ts';
import { assessRules, type FileFact, type RiskFacts, type RiskVerdict } from './risk.ts';
import { type NewVerdict, submitVerdict, type SubmittedVerdict } from './submit-verdict.ts';

/** A human without a part in any change. */
export const operator: Actor = { kind: 'operator', id: 'olga', channel: 'console' };
export const server = systemActor('test');
export const humans = ['olga'];

/** One changed file; modified, ten lines each way. */
export function fileFact(path: string, extra: Partial<FileFact> = {}): FileFact {
  return {
    path,
    status: 'modified',
    oldMode: '100644',
    newMode: '100644',
    added: 10,
    removed: 10,
    isBinary: false,
    ...extra,
  };
}

/** Facts of a change of these files and nothing else. */
export function factsOf(files: readonly (string | FileFact)[], extra: Partial<RiskFacts> = {}): RiskFacts {
  return {
    isDiffMissing: false,
    isTruncated: false,
    files: files.map((file) => (typeof file === 'string' ? fileFact(file) : file)),
    changedScripts: [],
    skippedTests: [],
    secrets: [],
    hasForeignTrailer: false,
    ...extra,
  };
}

export const lowRisk: RiskVerdict = assessRules(factsOf(['src/a.ts', 'src/b.ts']));
export const mediumRisk: RiskVerdict = assessRules(factsOf(['src/a.ts', 'src/b.ts', 'package-lock.json']));
export const criticalRisk: RiskVerdict = assessRules(factsOf(['src/a.ts', 'db/migrations/1.sql']));

/** Rules of landing with one check, in a repository with two families. */
export const rules: LandingRules = { topology: 'dual', skipRiskAssessment: false, requiredChecks: ['test'] };

/** A small world around one store: every step of a pull request by its verb. */
export function reviewWorld(store: Store) {
  const tx = <T>(fn: (tx: Tx) => Promise<T>): Promise<T> => store.tx(fn);
  const world = {
    read: async (id: string): Promise<PullRequest> => (await readPullRequest(store.read, id)) as PullRequest,
    async openOne(extra: Partial<NewPullRequest> = {}): Promise<PullRequest> {
      return mustOk(
        await tx((t) =>
          openPullRequest(t, {
            repositoryId: 'repo',
            title: 'Change',
            body: '',
            branch: `chantier/turing/issue-${newId()}`,
            baseRef: 'main',
            headSha: 'head-1',
            baseSha: 'base-1',
            patchId: 'patch-1',
            author: { agent: 'turing', family: 'claude' },
            actor: server,
            ...extra,
          }),
        ),
      );
    },
    assess: async (
      pullRequest: PullRequest,
      verdict: RiskVerdict = lowRisk,
      extra: { humans?: string[]; skipRiskAssessment?: boolean } = {},
    ) =>
      mustOk(
        await tx((t) =>
          assessRisk(t, {
            pullRequestId: pullRequest.id,
            headSha: pullRequest.headSha,
            verdict,
            humans,
            actor: server,
            ...extra,
          }),
        ),
      ),
    /** Opened and judged as low risk. */
    async opened(extra: Partial<NewPullRequest> = {}, verdict: RiskVerdict = lowRisk): Promise<PullRequest> {
      return (await world.assess(await world.openOne(extra), verdict)).pullRequest;
    },
    tryClaim: (
      pullRequest: PullRequest,
      agent = 'mitnick',
      family = 'codex',
      topology: Topology = 'dual',
      skipRiskAssessment = false,
    ) =>
      tx((t) =>
        claimReview(t, {
          pullRequestId: pullRequest.id,
          headSha: pullRequest.headSha,
          reviewer: { agent, family },
          topology,
          skipRiskAssessment,
          actor: server,
        }),
      ),
    async claim(
      pullRequest: PullRequest,
      agent = 'mitnick',
      family = 'codex',
      topology: Topology = 'dual',
      skipRiskAssessment = false,
    ): Promise<ReviewClaim> {
      const claim = mustOk(await world.tryClaim(pullRequest, agent, family, topology, skipRiskAssessment));
      return mustOk(
        await tx((t) => bindReviewClaim(t, { claimId: claim.id, sessionId: `session-of-${claim.id}`, generation: 1 })),
      );
    },
    trySubmit: (claim: ReviewClaim, decision: 'approve' | 'request_changes', extra: Partial<NewVerdict> = {}) =>
      tx((t) =>
        submitVerdict(t, {
          claimId: claim.id,
          sessionId: claim.sessionId ?? '',
          generation: claim.generation ?? 0,
          headSha: claim.headSha,
          decision,
          summary: 'looked at it',
          findings:
            decision === 'approve'
              ? []
              : [{ file: 'src/a.ts', line: 3, text: 'wrong sign', scenario: 'f(-1) gives 1, must be -1' }],
          coverage: ['src/a.ts', 'src/b.ts'],
          isSandboxed: true,
          humans,
          actor: server,
          ...extra,
        }),
      ),
    submit: async (
      claim: ReviewClaim,
      decision: 'approve' | 'request_changes',
      extra: Partial<NewVerdict> = {},
    ): Promise<SubmittedVerdict> => mustOk(await world.trySubmit(claim, decision, extra)),
    push: async (pullRequest: PullRequest, headSha: string, extra: Partial<NewHead> = {}): Promise<PullRequest> =>
      mustOk(
        await tx((t) =>
          moveHead(t, {
            pullRequestId: pullRequest.id,
            headSha,
            baseSha: 'base-1',
            patchId: `patch of ${headSha}`,
            hasConflictResolution: false,
            pushedBy: { kind: 'agent', contributor: 'turing', family: 'claude' },
            actor: server,
            ...extra,
          }),
        ),
      ),
    /** Judged, reviewed and approved by the other family. */
    async approved(extra: Partial<NewPullRequest> = {}, verdict: RiskVerdict = lowRisk): Promise<PullRequest> {
      const pullRequest = await world.opened(extra, verdict);
      await world.submit(await world.claim(pullRequest), 'approve');
      return world.read(pullRequest.id);
    },
    start: (pullRequest: PullRequest, extra: Partial<LandingRules> = {}) =>
      tx((t) =>
        startLanding(t, {
          pullRequestId: pullRequest.id,
          mode: 'base',
          method: 'squash',
          rules: { ...rules, ...extra },
          actor: server,
        }),
      ),
    offer: (landing: Landing, extra: Partial<Parameters<typeof offerLanding>[1]> = {}) =>
      tx((t) =>
        offerLanding(t, {
          landingId: landing.id,
          candidate: `candidate of ${landing.id}`,
          tree: 'tree-1',
          baseTip: 'base-1',
          checks: [{ name: 'test', status: 'passed' }],
          effect: { target: 'main', files: 2 },
          effectDigest: 'effect-1',
          rules,
          auto: 'none',
          sandboxHolds: true,
          actor: server,
          ...extra,
        }),
      ),
    async offered(pullRequest: PullRequest): Promise<Landing> {
      return mustOk(await world.offer(mustOk(await world.start(pullRequest))));
    },
    accept: (landing: Landing, extra: { actor?: Actor; candidate?: string; baseTip?: string; headSha?: string } = {}) =>
      tx((t) =>
        acceptLanding(t, {
          landingId: landing.id,
          candidate: landing.candidate ?? '',
          baseTip: landing.baseTip ?? '',
          headSha: landing.expectedHead,
          actor: operator,
          ...extra,
        }),
      ),
  };
  return world;
}

/** Kinds of all sequenced events, in order. */
export async function eventKindsOf(store: Store): Promise<string[]> {
  await store.settled();
  const rows = await store.read
    .selectFrom('event')
    .select('kind')
    .where('seq', 'is not', null)
    .orderBy('seq')
    .execute();
  return rows.map((row) => row.kind);
}
