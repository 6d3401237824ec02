/** A repository that the team registered: its checkout, its base, and how work in it is set up and checked (design 6). */
export interface RepositoryRow {
  id: string;
  name: string;
  /** Top folder of the operator's checkout, real path. */
  operator_path: string;
  /** The checkout's common git folder, real path. */
  operator_git_dir: string;
  base: string;
  mode: 'base' | 'branch' | 'pull-request';
  remote_name: string | null;
  remote_url: string | null;
  /** The bare repository of the local forge. */
  forge_dir: string;
  /** `n` of the next branch `chantier/<agent>/issue-<n>`. */
  next_branch_number: number;
  /** JSON of `RepositoryConfig` as it was read last, with the operator's own words; it governs nothing until it is trusted. */
  config: string;
  /** `file`: a part of it comes from `chantier.yml`. `operator`: inferred, with the operator's own words. */
  config_source: 'inferred' | 'file' | 'operator';
  /** Digest over commands, checks, environment names and policy. */
  config_digest: string;
  /** JSON of what the operator said about set-up and checks; kept when the checkout is read again. */
  own_words: string | null;
  /** The configuration that was trusted: everything that is executed or decides. Without it nothing runs and nothing lands. */
  trusted_config: string | null;
  trusted_source: RepositoryRow['config_source'] | null;
  trusted_digest: string | null;
  trusted_by: string | null;
  trusted_at: number | null;
  created_at: number;
  updated_at: number;
}

/** One clone outside of `CHANTIER_HOME`: of a session, or of a candidate that is checked. */
export interface WorkFolderRow {
  id: string;
  repository_id: string;
  purpose: 'author' | 'reviewer' | 'candidate';
  /** Session id or landing id; one folder for each. */
  owner_key: string;
  path: string;
  branch: string | null;
  start_commit: string;
  state: 'creating' | 'created' | 'ready' | 'failed' | 'removed';
  /** Key of the set-up cache that this folder was filled from or fills. */
  setup_key: string | null;
  /** Refs that hold what would have been lost, JSON list. */
  rescue_refs: string;
  created_at: number;
  removed_at: number | null;
}

/** Why a base commit is there: each has a landing or a sync row (design 6, decision 5 of the review part). */
export interface BaseMoveRow {
  id: string;
  repository_id: string;
  kind: 'landing' | 'sync' | 'revert';
  landing_id: string | null;
  from_commit: string | null;
  to_commit: string;
  /** `prepared` is written before the compare-and-set, so that ancestry can decide after a crash. */
  state: 'prepared' | 'done' | 'lost';
  created_at: number;
  settled_at: number | null;
}

/** One check that ran (or was left out) on one commit. */
export interface CheckRunRow {
  id: string;
  repository_id: string;
  /** Names one run of the whole list; repeated with the same key nothing is added. */
  run_key: string;
  ordinal: number;
  name: string;
  commit_id: string;
  status: 'passed' | 'failed' | 'timed-out' | 'skipped';
  exit_code: number | null;
  duration_ms: number;
  log_path: string | null;
  definition_digest: string;
  ended_at: number;
}

/** A port number that one work folder holds on one machine; the row goes when the folder or its session ends. */
export interface PortLeaseRow {
  machine: string;
  port: number;
  owner_key: string;
  /** `default` is the variable `PORT`, any other `CHANTIER_PORT_<NAME>`. */
  name: string;
  leased_at: number;
}

/** Tables of `forge`. */
export interface ForgeSchema {
  repository: RepositoryRow;
  work_folder: WorkFolderRow;
  base_move: BaseMoveRow;
  check_run: CheckRunRow;
  port_lease: PortLeaseRow;
}
