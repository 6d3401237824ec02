import { Fault } from '../../kernel/index.ts';
import { findPty, ptyHostArguments, ptyMissingCure } from '../../terminal/index.ts';
import type { AppContext } from '../context.ts';

/** Most bytes of a brief in one argument or variable; the kernel takes 128 KiB. */
const maxHandedBytes = 96 * 1024;

/** The brief as a program without protocol gets it at its start; `task_claim` gives the whole. */
export function handedPrompt(brief: string): string {
  const bytes = Buffer.from(brief);
  if (bytes.length <= maxHandedBytes) return brief;
  return `${new TextDecoder().decode(bytes.subarray(0, maxHandedBytes), { stream: true })}\n(cut; the tool task_claim gives the whole)`;
}

/** What such a program is told by its environment: its brief, and how to start the tools by which it reports. */
export function startVariables(ctx: AppContext, prompt: string | undefined): Record<string, string> {
  if (prompt === undefined) return {};
  return { CHANTIER_PROMPT: prompt, CHANTIER_MCP: JSON.stringify(ctx.bridge.command) };
}

/** The process that keeps the terminal, before the words of the program; runs inside, like the program (ADR 0030). */
export function terminalHost(ctx: AppContext): { words: string[]; folders: string[] } {
  const pty = findPty();
  if (!pty.found) throw new Fault('pty_missing', `No program can run at a terminal here: ${pty.why} ${ptyMissingCure}`);
  return { words: [...ctx.bridge.ptyHost, ...ptyHostArguments(pty.module)], folders: pty.folders };
}
