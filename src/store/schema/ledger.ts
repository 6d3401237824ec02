/** A customer that work is done for; scopes with `requires_client` need one. */
export interface ClientRow {
  id: string;
  codename: string;
  name: string;
  /** JSON list of domains whose mail belongs to this client. */
  email_domains: string;
  created_at: number;
}

/** A registered agent (L-18): rows come from `chantier.yml` or `agent add`. */
export interface AgentRow {
  id: string;
  codename: string;
  nickname: string | null;
  /** JSON list of `author`, `reviewer`, `qa`, `coordinator`. */
  roles: string;
  agent_group: string | null;
  /** Model family (`claude`, `codex`, …); a reviewer is of another one. */
  family: string;
  driver: 'acp' | 'claude' | 'codex' | 'command';
  /** JSON argv. */
  command: string;
  /** The program of a `command` agent runs at a terminal. */
  tty: number;
  /** Name of the provider account that is billed; one limit breaker for each. */
  account: string | null;
  /** JSON list of environment names that the operator hands over to this agent. */
  env_names: string;
  default_model: string | null;
  prompt: string;
  active: number;
  /** `operator` (agent add), `repository` (chantier.yml) or `builtin`. */
  source: 'operator' | 'repository' | 'builtin';
  version: number;
  created_at: number;
  updated_at: number;
  retired_at: number | null;
}

/** A scope that a project or a task may have; data, so that each install has its own (decision 18). */
export interface ScopeRow {
  codename: string;
  requires_client: number;
  /** Fewest distinct assignees at creation (L-33g). */
  min_agents: number;
  active: number;
}

/** A skill or a tool that tasks ask for. */
export interface CatalogueRow {
  id: string;
  codename: string;
  description: string;
  active: number;
}

/** A project: the steering unit (L-1, L-11). */
export interface ProjectRow {
  id: string;
  codename: string;
  title: string;
  status: 'planning' | 'dev' | 'test' | 'paused' | 'done' | 'cancelled';
  status_before_pause: 'planning' | 'dev' | 'test' | null;
  priority: 'P0' | 'P1' | 'P2' | 'P3';
  scope: string | null;
  client_id: string | null;
  mission_brief: string | null;
  preprod_test_plan: string | null;
  ship_command: string | null;
  current_focus: string | null;
  notes: string | null;
  auto_decompose: number;
  mode_auto: number;
  /** Null = no limit. */
  max_cost_micros: number | null;
  spent_cost_micros: number;
  next_job_seq: number;
  origin: string;
  version: number;
  done_at: number | null;
  done_by: string | null;
  shipped_at: number | null;
  created_at: number;
  updated_at: number;
}

/** A job: a part of a project (L-12). */
export interface JobRow {
  id: string;
  project_id: string;
  seq: number;
  codename: string;
  title: string;
  kind: 'discovery' | 'implementation' | 'companion';
  status: 'discovery' | 'planning' | 'dev' | 'paused' | 'review' | 'done' | 'cancelled';
  status_before_pause: 'discovery' | 'planning' | 'dev' | 'review' | null;
  priority: 'P0' | 'P1' | 'P2' | 'P3';
  agent_id: string | null;
  agent_prompt: string | null;
  zone: string | null;
  exit_criteria: string | null;
  current_phase: string | null;
  current_task: string | null;
  next_action: string | null;
  blockers: string | null;
  context_json: string;
  decisions_json: string;
  findings_json: string;
  steering_json: string;
  contract_model: string | null;
  mode_auto: number;
  repo_paths: string;
  /** Companion of that job (L-61). */
  resolves_job_id: string | null;
  /** Kept by triggers: blocking jobs that are neither done nor cancelled. */
  open_blockers: number;
  /** 1 = goes from planning to dev by itself when its last blocking job ends. */
  starts_when_unblocked: number;
  next_task_seq: number;
  version: number;
  started_at: number | null;
  ended_at: number | null;
  created_at: number;
  updated_at: number;
}

/** A task: one atomic action (L-13). */
export interface TaskRow {
  id: string;
  job_id: string;
  project_id: string;
  seq: number;
  /** `<job>-t<seq>` (decision 2). */
  codename: string;
  title: string;
  description: string;
  /** The human's request word for word; content, never in events. */
  request: string | null;
  status: 'todo' | 'doing' | 'done' | 'paused' | 'cancelled';
  priority: 'P0' | 'P1' | 'P2' | 'P3';
  scope: string | null;
  assignee_id: string | null;
  position: number;
  tokens_estimated: number | null;
  estimate_source: 'caller' | 'estimator' | 'history' | null;
  duration_min_estimated: number | null;
  model_recommended: 'high' | 'medium' | 'light' | null;
  model_source: 'explicit' | 'rule' | null;
  model_used: string | null;
  last_test_result: 'pass' | 'fail' | 'error' | 'skipped' | null;
  /** Failed tries since the last success or human reset (README 2.9). */
  attempts: number;
  tokens_actual: number;
  cost_actual_micros: number;
  visual_intent: string | null;
  visual_url: string | null;
  /** QA run that asked for this task; no foreign key, history outlives rows. */
  corrective_of_qa_run: string | null;
  /** Repository that the work lands in; null = ended by its session or a human. */
  repository_id: string | null;
  /** Branch to start from and land on; null = the repository's own. */
  base: string | null;
  /** Where it came from: `run`, `console`, `issue`, `email`, `api`, `import`, `qa`. */
  origin: string;
  /** Kept by triggers: blockers that are not resolved (L-29). */
  open_blockers: number;
  /** Kept by triggers: 1 while its job or project is not at work. */
  held: number;
  version: number;
  started_at: number | null;
  ended_at: number | null;
  created_at: number;
  updated_at: number;
}

/** An edge of the task graph inside one job (L-26); inserted and deleted, never updated. */
export interface TaskDependencyRow {
  id: string;
  job_id: string;
  blocked_task_id: string;
  blocker_task_id: string;
  /** What a cancelled blocker does: `unblock` (default) or `hold` (decision 34). */
  on_cancel: 'unblock' | 'hold';
  created_by: string;
  created_at: number;
}

/** An edge between two jobs of one project (decision 33). */
export interface JobDependencyRow {
  id: string;
  project_id: string;
  blocked_job_id: string;
  blocker_job_id: string;
  created_at: number;
}

/** A task whose work is handed in and waits for its pull request; `ended_at` null while it does (README 2.10). */
export interface TaskDeliveryRow {
  id: string;
  task_id: string;
  pull_request_id: string;
  delivered_by: string;
  delivered_at: number;
  ended_at: number | null;
  outcome: 'landed' | 'completed' | 'abandoned' | 'cancelled' | null;
}

/** Staffing of a project (L-17). */
export interface AssignmentRow {
  id: string;
  project_id: string;
  agent_id: string;
  role: 'production' | 'lead_production' | 'validation' | 'lead_validation';
  position: number;
  assigned_at: number;
  unassigned_at: number | null;
  notes: string;
}

export interface TaskSkillRow {
  task_id: string;
  skill_id: string;
}

export interface TaskToolRow {
  task_id: string;
  tool_id: string;
}

/** An unknown skill, tool or agent that somebody named; waits for a human (L-36, decision 44). */
export interface ProposalRow {
  id: string;
  kind: 'skill' | 'tool' | 'agent';
  codename: string;
  task_id: string | null;
  status: 'pending' | 'accepted' | 'rejected';
  proposed_by: string;
  decided_by: string | null;
  decided_at: number | null;
  reason: string | null;
  seen_count: number;
  created_at: number;
}

/** Which tasks asked for a proposal's skill or tool, so that accepting it attaches it to them. */
export interface ProposalTaskRow {
  proposal_id: string;
  task_id: string;
}

/** Texts that events may not hold: earlier wordings of a field, and the reasons humans gave (design 5). */
export interface LedgerTextRow {
  id: string;
  subject_kind: 'project' | 'job' | 'task';
  subject_id: string;
  project_id: string;
  kind: 'earlier' | 'reason';
  /** Column whose earlier text this is, or the verb that the reason is for. */
  field: string;
  text: string;
  by_actor: string;
  at: number;
}

/** Tables of `ledger`. */
export interface LedgerSchema {
  client: ClientRow;
  agent: AgentRow;
  project_scope: ScopeRow;
  task_scope: ScopeRow;
  skill: CatalogueRow;
  tool: CatalogueRow;
  project: ProjectRow;
  job: JobRow;
  task: TaskRow;
  task_dependency: TaskDependencyRow;
  job_dependency: JobDependencyRow;
  task_delivery: TaskDeliveryRow;
  assignment: AssignmentRow;
  task_skill: TaskSkillRow;
  task_tool: TaskToolRow;
  proposal: ProposalRow;
  proposal_task: ProposalTaskRow;
  ledger_text: LedgerTextRow;
}
