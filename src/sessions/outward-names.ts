import type { SessionRow } from './session-store.ts';
import type { SessionState } from './states.ts';

/** How a session is called outside; one-way, because paused and running look the same there (README 2.13). */
export interface OutwardNames {
  /** Status of an MCP task. */
  mcp: 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed';
  /** State of an A2A task. */
  a2a: string;
}

const names: Readonly<Record<SessionState, OutwardNames>> = {
  STARTING: { mcp: 'working', a2a: 'TASK_STATE_SUBMITTED' },
  RUNNING: { mcp: 'working', a2a: 'TASK_STATE_WORKING' },
  PAUSED: { mcp: 'working', a2a: 'TASK_STATE_WORKING' },
  ESCALATED: { mcp: 'input_required', a2a: 'TASK_STATE_INPUT_REQUIRED' },
  DONE: { mcp: 'completed', a2a: 'TASK_STATE_COMPLETED' },
  ABORTED: { mcp: 'cancelled', a2a: 'TASK_STATE_CANCELED' },
  CRASHED: { mcp: 'failed', a2a: 'TASK_STATE_FAILED' },
  START_FAILED: { mcp: 'failed', a2a: 'TASK_STATE_REJECTED' },
};

/** The outward names of a session; one that holds for an approval needs input. */
export function outwardNames(row: Pick<SessionRow, 'state' | 'waiting_approval'>): OutwardNames {
  const holds = row.waiting_approval === 1 && (row.state === 'RUNNING' || row.state === 'PAUSED');
  return holds ? names.ESCALATED : names[row.state];
}
