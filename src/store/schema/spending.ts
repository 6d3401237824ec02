/** Highest totals that one process of an agent has said of itself; what it says below them changes nothing (sessions decision 7). */
export interface UsageCounterRow {
  session_id: string;
  generation: number;
  /** Conversation that the totals belong to; a resumed one counts on from its last totals. */
  conversation_id: string | null;
  /** Null until the agent has said any. */
  input_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  cost_micros: number | null;
  /** Money booked by the price table before the agent named any of its own. */
  priced_micros: number;
  /** 1 = the agent says that a subscription pays. */
  on_plan: number;
  updated_at: number;
}

/** What one turn used on one day. */
export interface UsageEntryRow {
  session_id: string;
  generation: number;
  /** Id of the turn's prompt; `none` outside a turn. */
  turn_id: string;
  /** Day in `budget.timeZone` on which it was booked, `2026-01-31`; never changed afterwards. */
  day: string;
  project_id: string | null;
  task_id: string | null;
  pull_request_id: string | null;
  agent: string;
  /** Role and kind of the prompt, `author:brief`. */
  kind: string;
  /** Cached ones included. */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** Counted because the agent reported none: what was reserved for the turn. */
  guessed_tokens: number;
  cost_micros: number;
  currency: string;
  cost_source: 'reported' | 'priced' | 'plan' | 'unknown';
  price_version: string | null;
  created_at: number;
  updated_at: number;
}

/** How much of a plan's window an agent says is used. */
export interface PlanWindowRow {
  /** `<agent>:<name>`. */
  id: string;
  agent: string;
  name: string;
  /** 0 to 10,000: hundredths of a per cent. */
  used_basis_points: number;
  resets_at: number | null;
  reported_at: number;
}

/** What a whole session was expected to use, before it began. */
export interface SessionEstimateRow {
  session_id: string;
  tokens: number;
  cost_micros: number | null;
  source: 'history' | 'formula';
  samples: number;
  created_at: number;
}

/** One cap with what humans allowed beyond it. The row is what two reservations wait on. */
export interface BudgetRow {
  /** `<scope>:<subject>`. */
  id: string;
  scope: 'day' | 'plan' | 'project' | 'task';
  subject_id: string;
  /** Of its own; null = the setting's. */
  max_tokens: number | null;
  max_micros: number | null;
  /** Raised by so much. */
  extra_tokens: number;
  extra_micros: number;
  /** Turns that a human lets pass beyond the cap. */
  passes: number;
  /** Cap at which the warning at 80 % was given. */
  warned_tokens: number | null;
  warned_micros: number | null;
  /** A human said stop: nobody is asked again until it is raised. */
  stopped_at: number | null;
  updated_at: number;
}

/** What the open or next turn of a session holds of its budgets; one for each session. */
export interface BudgetReservationRow {
  session_id: string;
  generation: number;
  /** Null: made by the dispatcher, before the first turn. */
  turn_id: string | null;
  day: string;
  project_id: string | null;
  task_id: string | null;
  agent: string;
  tokens: number;
  cost_micros: number;
  /** 1 = a human lets this turn pass beyond a cap. */
  is_pass: number;
  created_at: number;
  updated_at: number;
}

/** Tables of `spending`. */
export interface SpendingSchema {
  usage_counter: UsageCounterRow;
  usage_entry: UsageEntryRow;
  plan_window: PlanWindowRow;
  session_estimate: SessionEstimateRow;
  budget: BudgetRow;
  budget_reservation: BudgetReservationRow;
}
