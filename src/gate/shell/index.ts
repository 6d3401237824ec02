export { parseShell } from './parse-shell.ts';
export type { ParsedShell, ShellCommand, ShellRedirection, ShellWord } from './shell-command.ts';
