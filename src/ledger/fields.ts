import { codenamePattern } from '../kernel/index.ts';
import { priorities } from './statuses.ts';

/** What a field of a project, job or task may hold. */
export type FieldKind =
  /** One line. */
  | { kind: 'line'; max: number; required?: true }
  /** Many lines; line ends become `\n`. */
  | { kind: 'text'; max: number; notNull?: true }
  | { kind: 'codename' }
  | { kind: 'integer'; max: number }
  | { kind: 'signed' }
  | { kind: 'flag' }
  | { kind: 'choice'; of: readonly string[]; nullable?: true; synonyms?: Readonly<Record<string, string>> }
  | { kind: 'json'; shape: 'object' | 'list' }
  /** Codename (or id) of another row; becomes its id, or stays a codename for scopes. */
  | { kind: 'reference'; to: 'project_scope' | 'task_scope' | 'client' | 'agent' }
  /** Euros, kept as micro-euros. */
  | { kind: 'euros' };

/** One field: the key is its name in payloads and its column, unless `column` says otherwise. */
export type Field = FieldKind & { column?: string };
export type FieldSet = Readonly<Record<string, Field>>;

/** Longest text of a brief, a plan, a description, a request. */
export const maxText = 100_000;

const priority: Field = { kind: 'choice', of: priorities };
const text: Field = { kind: 'text', max: maxText };

/** What a caller may set on a project; the one list for creation and updates (L-11, L-65). */
export const projectFields: FieldSet = {
  title: { kind: 'line', max: 300, required: true },
  priority,
  scope: { kind: 'reference', to: 'project_scope' },
  client: { kind: 'reference', to: 'client', column: 'client_id' },
  mission_brief: text,
  preprod_test_plan: text,
  ship_command: { kind: 'line', max: 2000 },
  current_focus: text,
  notes: text,
  auto_decompose: { kind: 'flag' },
  mode_auto: { kind: 'flag' },
  max_cost_micros: { kind: 'integer', max: Number.MAX_SAFE_INTEGER },
  max_cost_eur: { kind: 'euros', column: 'max_cost_micros' },
};

/** What a caller may set on a job (L-12). */
export const jobFields: FieldSet = {
  title: { kind: 'line', max: 300, required: true },
  priority,
  agent: { kind: 'reference', to: 'agent', column: 'agent_id' },
  agent_prompt: text,
  zone: text,
  exit_criteria: text,
  current_phase: text,
  current_task: text,
  next_action: text,
  blockers: text,
  context: { kind: 'json', shape: 'object', column: 'context_json' },
  decisions: { kind: 'json', shape: 'list', column: 'decisions_json' },
  findings: { kind: 'json', shape: 'list', column: 'findings_json' },
  steering: { kind: 'json', shape: 'object', column: 'steering_json' },
  contract_model: text,
  mode_auto: { kind: 'flag' },
  repo_paths: { kind: 'json', shape: 'list' },
};

/** What a caller may set on a task (L-13). */
export const taskFields: FieldSet = {
  title: { kind: 'line', max: 500, required: true },
  description: { kind: 'text', max: maxText, notNull: true },
  request: text,
  priority,
  scope: { kind: 'reference', to: 'task_scope' },
  assignee: { kind: 'reference', to: 'agent', column: 'assignee_id' },
  position: { kind: 'signed' },
  tokens_estimated: { kind: 'integer', max: 1_000_000_000 },
  duration_min_estimated: { kind: 'integer', max: 1_000_000 },
  model_recommended: {
    kind: 'choice',
    of: ['high', 'medium', 'light'],
    nullable: true,
    synonyms: { opus: 'high', sonnet: 'medium', haiku: 'light' },
  },
  visual_intent: text,
  visual_url: { kind: 'line', max: 2000 },
  repository_id: { kind: 'line', max: 128 },
  base: { kind: 'line', max: 255 },
};

/** The seed's names (and near ones) for our fields, accepted on input (decision 19). */
export const fieldAliases: Readonly<Record<string, string>> = {
  mission_letter: 'mission_brief',
  auto_explode: 'auto_decompose',
  client_id: 'client',
  agent_id: 'agent',
  agent_codename: 'agent',
  phase: 'current_phase',
  assignee_id: 'assignee',
  assignee_codename: 'assignee',
  token_estimate: 'tokens_estimated',
  duration: 'duration_min_estimated',
  model: 'model_recommended',
  context_json: 'context',
  decisions_json: 'decisions',
  findings_json: 'findings',
  steering_json: 'steering',
};

/** Columns that no caller sets by name: made at creation, by a move, by a trigger, or by a use case of their own. */
export const managedColumns = {
  project: [
    'id',
    'codename',
    'status',
    'status_before_pause',
    'spent_cost_micros',
    'next_job_seq',
    'origin',
    'version',
    'done_at',
    'done_by',
    'shipped_at',
    'created_at',
    'updated_at',
  ],
  job: [
    'id',
    'project_id',
    'seq',
    'codename',
    'kind',
    'status',
    'status_before_pause',
    'resolves_job_id',
    'open_blockers',
    'starts_when_unblocked',
    'next_task_seq',
    'version',
    'started_at',
    'ended_at',
    'created_at',
    'updated_at',
  ],
  task: [
    'id',
    'job_id',
    'project_id',
    'seq',
    'codename',
    'status',
    'estimate_source',
    'model_source',
    'model_used',
    'last_test_result',
    'attempts',
    'tokens_actual',
    'cost_actual_micros',
    'corrective_of_qa_run',
    'origin',
    'open_blockers',
    'held',
    'version',
    'started_at',
    'ended_at',
    'created_at',
    'updated_at',
  ],
} as const;

/** Whether `text` is a codename of a project, job or agent (L-33a). */
export function isCodename(text: string): boolean {
  return codenamePattern.test(text);
}
