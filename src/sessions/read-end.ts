import { constants } from 'node:os';

import { generationFolder, openGeneration } from './host/index.ts';

/** How the process of a generation ended, as far as it is known here. */
export interface ProcessEnd {
  /** What its wrapper wrote down; null: nothing (killed with it, never started, or the machine went down). */
  exitCode: number | null;
  /** The signal that the code stands for by the shell's custom (above 128); a program may give such a code by itself. */
  signal: string | null;
  /** The end of what it wrote to its error output; untrusted. */
  errors: string;
}

/** Reads it from the generation's folder, which only its node has and retention removes: `undefined` without it, or while it runs. */
export async function readEnd(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
  maxBytes: number,
): Promise<ProcessEnd | undefined> {
  const opened = await openGeneration(generationFolder(sessionsFolder, sessionId, generation));
  if (!opened.ok) return undefined;
  try {
    const state = opened.value.look();
    if (state.phase !== 'ended' && state.phase !== 'start-failed') return undefined;
    const exitCode = state.phase === 'ended' ? (state.code ?? null) : null;
    return { exitCode, signal: signalOf(exitCode), errors: await opened.value.stderrTail(maxBytes) };
  } finally {
    await opened.value.close();
  }
}

function signalOf(code: number | null): string | null {
  if (code === null || code <= 128) return null;
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0] ?? null;
}
