/** A governed tool or operation in one definition (G-1, G-3). */
export interface CapabilityRow {
  /** What a human types: 8 characters without look-alikes. */
  id: string;
  type: 'mcp_tool' | 'tool' | 'command' | 'http_operation' | 'workflow' | 'script' | 'hook';
  name: string;
  /** Identity of the server (command and arguments, or address); empty for what agents bring themselves. */
  server: string;
  /** Display name of the server; only a label. */
  server_label: string;
  version: string;
  definition_hash: string;
  /** The raw definition as JSON, for the diff; null where there is none. */
  definition: string | null;
  risk_tier: 'reversible' | 'privileged';
  status: 'provisional' | 'approved' | 'refused' | 'blocked';
  created_at: number;
  /** End of the grace period; null when privileged or decided. */
  expires_at: number | null;
  /** Calls that were let through (G-14). */
  exec_count: number;
  /** Calls that were refused because of this record. */
  refused_count: number;
  commit_link: string | null;
  doc_link: string | null;
  /** Operator id, or `preset:<name>` and `policy:<version>` where a human's rule decided. */
  decided_by: string | null;
  decided_at: number | null;
  decision_note: string | null;
  first_exec_alerted_at: number | null;
  reminder_sent_at: number | null;
}

/** Since when a tool of a server is known: the grace period belongs to it and is never renewed (gate decision 6). */
export interface CapabilityLineageRow {
  type: string;
  server: string;
  name: string;
  grace_ends_at: number;
}

/** The latest moment that the gate has seen; a clock set back gives no more time. One row. */
export interface GateClockRow {
  id: number;
  high_water: number;
}

/** One invocation that was not read-only. */
export interface GateCallRow {
  id: string;
  session_id: string;
  generation: number;
  /** The agent's own id of the request; asked again with it, the answer is the same. */
  request_id: string | null;
  agent: string;
  role: string;
  project_id: string | null;
  tool_kind: string;
  tool_name: string;
  server: string;
  /** The capability that decided; null when none was touched (phase, flood). */
  capability_id: string | null;
  /** JSON list of every capability that the call uses. */
  capability_ids: string;
  /** SHA-256 over server, capability versions, arguments, files, caller and policy: what a yes binds to. */
  binding_digest: string;
  /** SHA-256 over the canonical arguments. */
  arguments_digest: string;
  policy_version: string;
  state: 'allowed' | 'refused' | 'waiting' | 'approved' | 'spent' | 'denied' | 'expired' | 'void';
  /** Machine word: `inside_sandbox`, `standing`, `blocked`, `phase`, … */
  reason: string;
  /** 1 = a standing approval of its capabilities would let it pass. */
  can_stand: number;
  decision_id: string | null;
  /** How often it was asked while waiting. */
  count: number;
  created_at: number;
  /** Epoch ms until which a yes can be spent; set by the yes. */
  expires_at: number | null;
  decided_by: string | null;
  decided_at: number | null;
  spent_at: number | null;
  outcome: 'ok' | 'error' | 'timeout' | 'unknown' | null;
  outcome_at: number | null;
}

/** Texts of a call, apart from events and rows so that they can be erased (design 5). */
export interface GateCallContentRow {
  call_id: string;
  /** JSON of `CallPreview`. */
  preview: string;
  /** Canonical arguments, masked; null when they were not given. */
  arguments: string | null;
  created_at: number;
}

/** Tables of `gate`. */
export interface GateSchema {
  capability: CapabilityRow;
  capability_lineage: CapabilityLineageRow;
  gate_clock: GateClockRow;
  gate_call: GateCallRow;
  gate_call_content: GateCallContentRow;
}
