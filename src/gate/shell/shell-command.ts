/** One word of a command after quotes are taken away. */
export interface ShellWord {
  text: string;
  /** False when the shell would put something else there: a variable, a substitution, braces, a tilde. */
  isStatic: boolean;
  /** Holds an unquoted `*`, `?` or `[`. */
  hasGlob: boolean;
  /** Any part was quoted; then it is no reserved word. */
  isQuoted: boolean;
}

export interface ShellRedirection {
  /** `<`, `>`, `>>`, `>|`, `<>`, `&>`, `&>>`, `<&`, `>&`, `<<<` or `<<`. */
  operator: string;
  /** The file, the descriptor, or for `<<` and `<<<` the text itself. */
  target: ShellWord;
}

/** One simple command of a script, in the order in which they are written, whatever surrounds it. */
export interface ShellCommand {
  /** Program first; empty when there are only assignments or redirections. */
  words: readonly ShellWord[];
  assignments: readonly { name: string; value: ShellWord }[];
  redirections: readonly ShellRedirection[];
}

/** A script taken apart, or why it was not understood; the text itself is then all that can be judged. */
export type ParsedShell =
  | { isUnderstood: true; commands: readonly ShellCommand[] }
  | { isUnderstood: false; reason: string };

/** Thrown inside the parser only. */
export class NotUnderstood extends Error {}
