/** The world of one invocation; tests bring their own. */
export interface CliIo {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Writes to stdout. */
  out(text: string): void;
  /** Resolves when whoever reads stdout has taken most of it; long output waits for that. Left out: at once. */
  drained?(): Promise<void>;
  /** Writes to stderr: progress and messages for people. */
  err(text: string): void;
  /** Everything on stdin, as text. */
  readStdin(): Promise<string>;
  /** Whether somebody sits at a terminal and can be asked. */
  hasTerminal(): boolean;
  /** Aborted by SIGINT and SIGTERM. */
  signal: AbortSignal;
}
