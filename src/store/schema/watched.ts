/** A session that a human started by hand in an agent's own terminal; told by that agent's hooks, never supervised. Source: design section 7. */
export interface WatchedSessionRow {
  id: string;
  agent: 'claude' | 'codex' | 'gemini';
  /** The agent's own id of the session; unique for an agent. */
  native_id: string;
  node_id: string;
  cwd: string;
  /** The agent's process, with the start time and boot that make it one for good; null when the hook could not tell. */
  pid: number | null;
  pid_started: number | null;
  boot_id: string | null;
  state: 'idle' | 'working' | 'waiting' | 'ended';
  started_at: number;
  seen_at: number;
  ended_at: number | null;
}

/** Something that a watched session waits for. */
export interface WatchedRequestRow {
  /** Made by the hook, so that its repetition makes no second one. */
  id: string;
  watched_session_id: string;
  /** `notice`: only the agent's own terminal can answer it. */
  kind: 'permission' | 'question' | 'notice';
  tool: string;
  /** The tool's input as JSON; null when there was none. */
  input: string | null;
  /** SHA-256 of tool and input: a tool that ran was allowed elsewhere. */
  digest: string;
  decision_id: string | null;
  state: 'open' | 'answered' | 'void';
  /** Why it is void: `answered_there`, `hook_gone`, `session_ended`. */
  reason: string | null;
  /** Output for the hook as JSON, once answered. */
  output: string | null;
  created_at: number;
  /** When its hook last asked for the answer. */
  polled_at: number;
  ended_at: number | null;
}

/** Tables of watched sessions. */
export interface WatchedSchema {
  watched_session: WatchedSessionRow;
  watched_request: WatchedRequestRow;
}
