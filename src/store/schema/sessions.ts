import type { Generated } from 'kysely';

/** One run of one agent on one work key (S-5, decision 1 of the sessions part). */
export interface SessionRow {
  id: string;
  /** Unique among non-terminal sessions only. */
  work_key: string;
  project_code: string;
  role: 'author' | 'reviewer' | 'qa';
  /** Codename of the registered agent. */
  agent: string;
  project_id: string | null;
  task_id: string | null;
  pull_request_id: string | null;
  /** Number of the task's lease that this session works under; later writes carry it. */
  task_fence: number | null;
  /** Written by `sessions/transition.ts` only. */
  state: 'STARTING' | 'RUNNING' | 'ESCALATED' | 'PAUSED' | 'DONE' | 'ABORTED' | 'CRASHED' | 'START_FAILED';
  /** Grows with each process start; every answer, prompt and message is fenced by it. */
  generation: number;
  /** What is to become of the generation's process: none → wanted → launching → live → ending → ended. */
  process: 'none' | 'wanted' | 'launching' | 'live' | 'ending' | 'ended';
  /** Broker address: `pending-<work key>` until the peer was seen (S-27, S-28). */
  endpoint_id: string;
  /** Node that started it; only that node supervises it. */
  node_id: string;
  /** The agent's own conversation (ACP sessionId); kept after the end so that it can be resumed. */
  conversation_id: string | null;
  /** Conversation that the next generation opens again instead of a new one. */
  resume_conversation_id: string | null;
  /** Work folder that this session goes on in; null = one of its own, named by its id. */
  folder_key: string | null;
  /** Bytes of the generation's journal whose events are in the store. */
  journal_offset: number;
  pid: number | null;
  /** Start time of `pid` in the kernel's ticks; with the boot id it names one process for good. */
  pid_started: string | null;
  boot_id: string | null;
  /** SHA-256 of the generation's token. */
  token_hash: string | null;
  /** Permission mode that was read back (decision 3). */
  mode: string | null;
  waiting_approval: number;
  unresponsive: number;
  stalled: number;
  taken_over: number;
  /** Epoch ms until which the provider takes nothing more. */
  limited_until: number | null;
  /** Provider account that its agent used when it was launched last. */
  account: string | null;
  /** A completion was reported while ESCALATED or PAUSED and waits (S-44). */
  done_held: number;
  /** A turn is open: the agent works on a prompt. */
  turn_open: number;
  /** A turn was cut by pause; resume asks the agent to go on. */
  turn_cut: number;
  /** How often the agent was told that it had stalled. */
  stall_told: number;
  missed_polls: number;
  summary: string | null;
  created_at: number;
  updated_at: number;
  /** When the generation's process was launched; the start timers count from here. */
  launched_at: number | null;
  peer_seen_at: number | null;
  live_at: number | null;
  /** Last sign of life of any kind. */
  last_seen_at: number | null;
  /** Last event of an open turn; the stall clock counts from here. */
  last_event_at: number | null;
  turn_opened_at: number | null;
  unresponsive_since: number | null;
  stalled_since: number | null;
  /** Latch: what the agent says after this is ignored (decision 5). */
  stopping_at: number | null;
  ended_at: number | null;
  /** When the work of an ended session was saved and its folders were dealt with. */
  wound_up_at: number | null;
  /** Machine word why it ended or paused: `hung`, `unsafe_mode`, `operator`. */
  reason: string | null;
}

/** A provider account that takes nothing more (design section 7); no row: it is free. */
export interface AccountLimitRow {
  account: string;
  reason: 'usage' | 'rate' | 'billing' | 'auth';
  /** Epoch ms; null: until a human has settled it. */
  limited_until: number | null;
  /** How often in a row it was limited. */
  strikes: number;
  /** The session that tries it alone after its time, and since when. */
  probe_session_id: string | null;
  probe_since: number | null;
  updated_at: number;
}

/** A question of a session to a human (S-6). The text lives here and in exports' keyed hashes only. */
export interface EscalationRow {
  id: string;
  /** Place in the queue; answered oldest first (S-32). */
  ord: Generated<number>;
  session_id: string;
  work_key: string;
  generation: number;
  source: 'ask_human' | 'elicitation' | 'message';
  /** Request of the agent that waits for the answer (elicitation), named for good within its generation. */
  rpc_id: string | null;
  /** Key of the agent's own call, so that a repeated call is the same question. */
  ask_key: string | null;
  text: string;
  /** JSON: choices offered, or the schema of the form. */
  form: string | null;
  status: 'OPEN' | 'ANSWERED' | 'CLOSED';
  answer: string | null;
  answered_by: string | null;
  answered_at: number | null;
  /** `pending` from the answer until the agent has it. */
  delivery: 'none' | 'pending' | 'delivered' | 'void';
  closure_reason: string | null;
  decision_id: string | null;
  created_at: number;
}

/** A permission asked by the agent's own protocol; it holds until it is settled (design 7). */
export interface PermissionRequestRow {
  id: string;
  session_id: string;
  generation: number;
  rpc_id: string;
  /** JSON of the tool call as asked. */
  tool_call: string;
  /** JSON list of the kinds on offer: `allow_once`, `allow_always`, `reject_once`, `reject_always`. */
  choices: string;
  state: 'judging' | 'held' | 'allowed' | 'rejected' | 'cancelled' | 'void';
  decision_id: string | null;
  reason: string | null;
  delivery: 'none' | 'pending' | 'delivered' | 'void';
  created_at: number;
  settled_at: number | null;
}

/** A text for the agent, in order, with its delivery verdict (decision 8). */
export interface PromptRow {
  id: string;
  ord: Generated<number>;
  session_id: string;
  kind: 'brief' | 'tell' | 'answer' | 'message' | 'feedback' | 'notice';
  /** Deterministic key of its source: enqueued again, nothing is added. */
  source_key: string;
  text: string;
  /** Cuts the open turn to be delivered at once. */
  urgent: number;
  state: 'queued' | 'sending' | 'delivered' | 'unconfirmed' | 'not_delivered';
  generation: number | null;
  rpc_id: string | null;
  stop_reason: string | null;
  created_at: number;
  sent_at: number | null;
  settled_at: number | null;
}

/** A human at the wheel of a session (design 7); at most one of a session is open. */
export interface TakeoverRow {
  id: string;
  session_id: string;
  /** The generation that was ended for it. */
  generation: number;
  /** Who, as the caller named itself; data. */
  taken_by: string;
  taken_at: number;
  /** Head of the work folder when the agent was gone; null until that was seen, and without a repository. */
  start_commit: string | null;
  /** Terminals that were opened in it. */
  terminals: number;
  ended_at: number | null;
  ended_by: string | null;
  /** `session_ended`: stopped, or its task cancelled, instead of handed back. */
  outcome: 'handed_back' | 'session_ended' | null;
  /** Head of the branch that was handed back. */
  end_commit: string | null;
  note: string | null;
  /** The generation that was started with what the human did as its context. */
  resumed_generation: number | null;
}

/** A message in the broker: at least once until acknowledged, fenced by the receiver's generation (decision 10). */
export interface MessageRow {
  id: string;
  ord: Generated<number>;
  to_session_id: string;
  /** Generation it may be delivered to; null = whichever lives. */
  to_generation: number | null;
  from_endpoint: string;
  type: string;
  /** JSON. */
  payload: string;
  created_at: number;
  /** First time it was handed out; handed out again until acknowledged. */
  peeked_at: number | null;
  acked_at: number | null;
}

/** What a session reported of itself: status lines and checkpoints (texts, kept out of events). */
export interface SessionReportRow {
  id: string;
  ord: Generated<number>;
  session_id: string;
  generation: number;
  kind: 'status' | 'checkpoint';
  text: string;
  /** JSON. */
  data: string | null;
  created_at: number;
}

/** Tokens and money of a session, summed over its generations. */
export interface SessionContextRow {
  session_id: string;
  /** Size of the agent's context window and how much of it is used, as last reported. */
  context_size: number | null;
  context_used: number | null;
  updated_at: number;
}

/** One row for each quota, locked by whoever counts against it. */
export interface SessionQuotaRow {
  id: 'author' | 'reviewer';
}

/** A client of the claude-peers port: somebody else's process on this machine (decision 10). */
export interface OutsidePeerRow {
  /** 8 characters of `a-z0-9`. */
  id: string;
  /** The node whose machine it runs on. */
  node_id: string;
  pid: number;
  /** Tells that very process from a later one with its pid, and from one whose agent has gone; null where that cannot be told. */
  process_mark: string | null;
  cwd: string;
  git_root: string | null;
  tty: string | null;
  summary: string;
  registered_at: number;
  last_seen_at: number;
  /** Its process or its agent has gone, or it said so; what waits for it is kept for the one that comes after it. */
  gone_at: number | null;
}

/** A message to an outside peer. Text kept out of events. */
export interface OutsideMessageRow {
  ord: Generated<number>;
  /** Random: whoever does not have the message cannot acknowledge it. */
  id: number;
  to_peer: string;
  from_id: string;
  text: string;
  sent_at: number;
  /** Handed out by peeking; handed out again 60 s later unless acknowledged. */
  polled_at: number | null;
  delivered_at: number | null;
}

/** Tables of `sessions`. */
export interface SessionsSchema {
  session: SessionRow;
  escalation: EscalationRow;
  permission_request: PermissionRequestRow;
  prompt: PromptRow;
  message: MessageRow;
  session_report: SessionReportRow;
  session_context: SessionContextRow;
  session_quota: SessionQuotaRow;
  outside_peer: OutsidePeerRow;
  outside_message: OutsideMessageRow;
  account_limit: AccountLimitRow;
  takeover: TakeoverRow;
}
