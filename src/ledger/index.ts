export { addJob } from './add-job.ts';
export { addTask, addTasks } from './add-tasks.ts';
export type { Agent, AgentDriver, AgentEntry, AgentRole } from './agents.ts';
export { agentDrivers, agentRoles, agentsTopic, findAgent, listAgents, registerAgent, retireAgent } from './agents.ts';
export { assignAgent, assignmentRoles, liveAssignments, unassignAgent } from './assignments.ts';
export { maxAttempts } from './attempts.ts';
export type { BenchFigures } from './bench.ts';
export { benchImport, benchReady } from './bench.ts';
export { cancelJob, cancelProject, cancelTask } from './cancel-work.ts';
export { settleJob, settleProject } from './cascade.ts';
export type { LedgerFault } from './check-ledger.ts';
export { checkLedger } from './check-ledger.ts';
export type { Claimant } from './claim-task.ts';
export { claimNext, claimRework, claimTask } from './claim-task.ts';
export type { Claim } from './claims.ts';
export { checkClaim, claimOf, claimTtlMs, expiredClaims, heartbeat, openDelivery } from './claims.ts';
export { addClient, listClients } from './clients.ts';
export type { Completion } from './complete-task.ts';
export { completeTask } from './complete-task.ts';
export { completeProject, confirmJob } from './complete-work.ts';
export type { CreatedProject } from './create-project.ts';
export { createProject } from './create-project.ts';
export { deliverTask, endDelivery } from './deliver-task.ts';
export type { DependencyView } from './dependencies.ts';
export { addDependency, blockersOf, isTaskUnblocked, listDependencies, removeDependency } from './dependencies.ts';
export { maxChain } from './dependency-graph.ts';
export { estimateTokens } from './estimate-tokens.ts';
export { addJobDependency, listJobDependencies, removeJobDependency } from './job-dependencies.ts';
export { qaTopic, tasksTopic } from './move-status.ts';
export type { Wish } from './pause-work.ts';
export { pauseJob, pauseProject, pauseTask, resumeJob, resumeProject, resumeTask, startJob } from './pause-work.ts';
export type { JobView, ProjectDetail, ProjectFilter, ProjectView, TaskCounts } from './project-views.ts';
export { listProjects, showJob, showProject } from './project-views.ts';
export { addToCatalogue, listCatalogue, listProposals, settleProposal } from './proposals.ts';
export type { InputFault } from './read-fields.ts';
export type { ReadyFilter } from './ready-tasks.ts';
export { readyTasks } from './ready-tasks.ts';
export type { ModelClass } from './recommend-model.ts';
export { recommendModel } from './recommend-model.ts';
export { recordTestResult } from './record-task.ts';
export type { ClaimEnd } from './release-claim.ts';
export { claimEnds, releaseClaim } from './release-claim.ts';
export { reopenJob, reopenProject, reopenTask } from './reopen-work.ts';
export type { AgentRow, JobRow, LockedTask, ProjectRow, TaskRow } from './rows.ts';
export { findJob, findProject, findTask, lockJob, lockProject, lockTask } from './rows.ts';
export type { ScopeEntry, ScopePreset } from './scopes.ts';
export { installScopes, listScopes, neutralScopes, seedScopes } from './scopes.ts';
export type { JobStatus, Priority, ProjectStatus, TaskStatus } from './statuses.ts';
export {
  jobMoves,
  jobReopenings,
  jobStateDocs,
  priorities,
  projectMoves,
  projectReopenings,
  projectStateDocs,
  taskMoves,
  taskReopenings,
  taskStateDocs,
} from './statuses.ts';
export type { TaskDetail, TaskFilter, TaskPhase, TaskView } from './task-views.ts';
export { listTasks, showTask } from './task-views.ts';
export type { Update } from './update-work.ts';
export { updateJob, updateProject, updateTask } from './update-work.ts';
export { proposeCodename, workKey } from './work-key.ts';
