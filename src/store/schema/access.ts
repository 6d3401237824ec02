/** A human who may log in. Source: design section 4. */
export interface UserRow {
  id: string;
  /** Lower case, unique. */
  name: string;
  role: 'operator' | 'viewer';
  /** `scrypt$<log2 N>$<r>$<p>$<salt>$<hash>`, base64url. */
  passphrase_hash: string;
  created_by: string;
  created_at: number;
  disabled_at: number | null;
}

/** One log-in of the console. The cookie reads; the proof, sent as a header, decides. Only hashes are kept. */
export interface ConsoleSessionRow {
  id: string;
  user_id: string;
  cookie_hash: string;
  /** Null for viewers. */
  proof_hash: string | null;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  ended_at: number | null;
}

/** A proof for one decision: spent before the use case runs. */
export interface ProofRow {
  hash: string;
  user_id: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  /** Digest of the one request it was spent on, so that its repetition is no second use. */
  used_for: string | null;
}

/** A terminal that was opened for 8 h (`chantier unlock`). */
export interface UnlockRow {
  id: string;
  token_hash: string;
  user_id: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  ended_at: number | null;
}

/** Failed log-ins of one bucket (way in and name). */
export interface LogInFailureRow {
  bucket: string;
  failures: number;
  /** Epoch ms before which nothing is tried. */
  blocked_until: number;
  last_at: number;
}

/** The one-use link of the first run. */
export interface FirstRunRow {
  secret_hash: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** Tables of `access`. */
export interface AccessSchema {
  user_account: UserRow;
  console_session: ConsoleSessionRow;
  proof: ProofRow;
  unlock: UnlockRow;
  log_in_failure: LogInFailureRow;
  first_run: FirstRunRow;
}
