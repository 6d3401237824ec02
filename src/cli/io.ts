/** A terminal that a command may draw on and read keys from. */
export interface CliTerminal {
  size(): { cols: number; rows: number };
  /** Calls `look` when its size has changed; gives the function that ends it. */
  onResize(look: () => void): () => void;
  /** Hands over each key as it is pressed, unechoed; gives the function that makes the terminal what it was. */
  readKeys(take: (keys: Buffer) => void): () => void;
}

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
  /** The terminal that is both stdin and stdout, where there is one and no agent sits at it. */
  terminal?: CliTerminal;
  /** Aborted by SIGINT and SIGTERM. */
  signal: AbortSignal;
}
