import { rm, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { findByRunMarker, sweepRun } from '../../sandbox/index.ts';
import { terminalMarker } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';

/** How long a terminal's programs may take to end after they were asked (ms). */
const graceMs = 2_000;

/** Pids of what still runs in the terminals of a takeover; seen where there is a `/proc`. */
export function livingTerminals(takeoverId: string): number[] {
  return findByRunMarker(terminalMarker(takeoverId));
}

/** Ends the terminals of a takeover: asked, then killed. Gives how many processes there were. */
export async function endTerminals(takeoverId: string): Promise<number> {
  const living = livingTerminals(takeoverId);
  for (const pid of living) askToEnd(pid);
  const giveUpAt = performance.now() + graceMs;
  while (livingTerminals(takeoverId).length > 0 && performance.now() < giveUpAt) await sleep(50);
  sweepRun(terminalMarker(takeoverId));
  return living.length;
}

function askToEnd(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    // Gone already is what was wanted; what another user owns is swept or reported.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Where the files of a takeover's terminals lie: beside the generations, in no sandbox. */
export function terminalFolder(
  ctx: Pick<AppContext, 'paths'>,
  sessionId: string,
  takeoverId: string,
  n: number,
): string {
  return join(ctx.paths.sessions, sessionId, `wheel-${takeoverId}-${n}`);
}

/** Removes what terminals of a session were opened with; their arguments hold keys. */
export async function removeTerminalFiles(ctx: Pick<AppContext, 'paths'>, sessionId: string): Promise<void> {
  const folder = join(ctx.paths.sessions, sessionId);
  const names = await readdir(folder).catch(() => []);
  for (const name of names)
    if (name.startsWith('wheel-')) await rm(join(folder, name), { recursive: true, force: true });
}

/** Ends every terminal of a session that has ended, whoever had the wheel. */
export async function endTerminalsOf(ctx: AppContext, sessionId: string): Promise<void> {
  const rows = await ctx.store.read.selectFrom('takeover').select('id').where('session_id', '=', sessionId).execute();
  if (rows.length === 0) return;
  for (const { id } of rows) await endTerminals(id);
  await removeTerminalFiles(ctx, sessionId);
}
