export type { BaseMove } from './base-moves.ts';
export { baseMoveTo, listBaseMoves, preparedBaseMoves, prepareBaseMove, settleBaseMove } from './base-moves.ts';
export { checkPointers, usesLfs } from './checks/check-pointers.ts';
export { checkRunsOf, lastChecksOf, recordCheckRun } from './checks/check-run-store.ts';
export type { CheckReport, CheckResult } from './checks/run-checks.ts';
export { appliesTo, runChecks } from './checks/run-checks.ts';
export type { DetectedRepository, LandingMode } from './detect-repository.ts';
export { detectRepository } from './detect-repository.ts';
export type { Forge, ForgeFolders } from './forge.ts';
export { forgeFolders, openForge } from './forge.ts';
export type { DirtyState, Git, GitIdentity } from './git/index.ts';
export { findGit, oldestGit, readRegular, serverIdentity } from './git/index.ts';
export type { Explanation } from './infer-workspace.ts';
export { baseTip, ensureBareRepository, isAncestor, resolveRef } from './local/bare-repository.ts';
export type { Candidate, LandingVerification } from './local/candidate.ts';
export { buildCandidate, dropCandidate, landCandidate, landingTrailer, verifyLanding } from './local/candidate.ts';
export type { ChangedFile, ChangeFacts } from './local/changed-files.ts';
export { changedFiles, commitsAhead, findMergeBase, patchIdOf, patchOf } from './local/changed-files.ts';
export type { BaseSync } from './local/import-base.ts';
export { applyBaseSync, importBase } from './local/import-base.ts';
export { measureLanding } from './local/measure-landing.ts';
export type { ListedCommit } from './local/list-commits.ts';
export { listCommits } from './local/list-commits.ts';
export { listRescueRefs, saveRescueRef } from './local/rescue.ts';
export type { ReviewedBranch } from './local/reviewed-branch.ts';
export { checkConnected, snapshotRepository } from './local/snapshot-repository.ts';
export { buildRevert, publishReviewedBranch } from './local/reviewed-branch.ts';
export { shellLine } from './local/take-over-command.ts';
export type { FastForward } from './operator/fast-forward.ts';
export { fastForwardOperator } from './operator/fast-forward.ts';
export { snapshotChanges } from './operator/snapshot-changes.ts';
export { leasePorts, portsOf, releasePorts } from './port-leases.ts';
export type { ConfigAtCommit } from './read-config.ts';
export { packForge, recoverForge } from './recover-forge.ts';
export type { OwnWords } from './register-repository.ts';
export { configureRepository, registerRepository, takeBranchNumber, trustRepository } from './register-repository.ts';
export type { CheckDefinition, RepositoryConfig, RepositoryFile } from './repository-config.ts';
export { configDigest, parseRepositoryFile, repositoryFileSchema } from './repository-config.ts';
export { listRepositories, repositoryById, repositoryByPath } from './repository-store.ts';
export type { ConfigSource, ForgeRepository, Repository } from './repository.ts';
export { branchName, branchRef, parseBranchName } from './repository.ts';
export type { Slots } from './slots.ts';
export type { RecordedWorkFolder } from './work-folder-store.ts';
export {
  listWorkFolders,
  markWorkFolder,
  recordRescue,
  recordWorkFolder,
  renewWorkFolder,
  workFolderByOwner,
} from './work-folder-store.ts';
export { commitInFolder } from './work-folders/commit-in-folder.ts';
export { createWorkFolder } from './work-folders/create-work-folder.ts';
export type { WorkFolderFacts } from './work-folders/inspect-work-folder.ts';
export { inspectWorkFolder } from './work-folders/inspect-work-folder.ts';
export type { PreparedFolder } from './work-folders/prepare-work-folder.ts';
export { prepareWorkFolder } from './work-folders/prepare-work-folder.ts';
export { readPrepared } from './work-folders/prepare-work-folder.ts';
export { removeWorkFolder } from './work-folders/remove-work-folder.ts';
export { saveWork } from './work-folders/save-work.ts';
export type { TakenBranch } from './work-folders/take-branch.ts';
export { takeBranch } from './work-folders/take-branch.ts';
export type { InSandbox, WorkFolder } from './work-folders/work-folder.ts';
export {
  configuredEnvironment,
  readOnlyPaths,
  workFolderAt,
  workFolderEnvironment,
  workFolderProfile,
} from './work-folders/work-folder.ts';
