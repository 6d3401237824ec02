import { isTerminal as nothingLeaves, type MoveTable } from '../kernel/index.ts';

/**
 * The eight states of a session (S-9); no further state may exist.
 *
 * - STARTING: recorded, its process starts. Left by the supervisor (live, start failed) or by `stop`.
 * - RUNNING: its agent may work. Left by a question, `pause`, `stop`, a reported completion, or death.
 * - ESCALATED: at least one question is open or its answer is on the way. Left when the last one is delivered, by `stop`, or death.
 * - PAUSED: the turn is cut and prompts are held. Left by `resume`, `stop`, or death.
 * - DONE, ABORTED, CRASHED, START_FAILED: ended; nothing leaves them, ever (S-11).
 */
export type SessionState =
  | 'STARTING'
  | 'RUNNING'
  | 'ESCALATED'
  | 'PAUSED'
  | 'DONE'
  | 'ABORTED'
  | 'CRASHED'
  | 'START_FAILED';

/** The states that nothing leaves. */
export type TerminalState = 'DONE' | 'ABORTED' | 'CRASHED' | 'START_FAILED';

/** The 14 moves of S7.2; every other of the 64 pairs is refused, self-loops included. */
export const sessionMoves: MoveTable<SessionState> = {
  STARTING: ['RUNNING', 'ABORTED', 'START_FAILED'],
  RUNNING: ['ESCALATED', 'PAUSED', 'DONE', 'ABORTED', 'CRASHED'],
  ESCALATED: ['RUNNING', 'ABORTED', 'CRASHED'],
  PAUSED: ['RUNNING', 'ABORTED', 'CRASHED'],
  DONE: [],
  ABORTED: [],
  CRASHED: [],
  START_FAILED: [],
};

/** Each state with who leaves it; the state page of the docs is made from this. */
export const sessionStateDocs: Readonly<Record<SessionState, string>> = {
  STARTING: 'Recorded; its process starts. The supervisor leaves it (live, or start failed), or `stop` does.',
  RUNNING: 'Its agent may work. Left by a question, `pause`, `stop`, a reported completion, or death.',
  ESCALATED:
    'At least one question is open, or its answer is on the way. Left with the last delivery, by `stop`, or death.',
  PAUSED: 'The turn is cut and prompts are held. Left by `resume`, `stop`, or death.',
  DONE: 'The work was reported as complete. Nothing leaves it.',
  ABORTED: 'Stopped by a human. Nothing leaves it.',
  CRASHED: 'Its process died or hung. Nothing leaves it; the work is kept and a new session may follow.',
  START_FAILED: 'Its agent never came up, or not in the mode that was set. Nothing leaves it.',
};

/** All states, in the order of S7.2. */
export const sessionStates = Object.keys(sessionMoves) as SessionState[];

/** The states from which a session can still move; what quotas and unique work keys count (S-19). */
export const activeStates = sessionStates.filter((state) => !nothingLeaves(sessionMoves, state));

/** Whether nothing leaves `state` (S-13). */
export function isTerminal(state: SessionState): state is TerminalState {
  return nothingLeaves(sessionMoves, state);
}

/** The states that may follow `from` (S-13). */
export function allowedTransitions(from: SessionState): readonly SessionState[] {
  return sessionMoves[from];
}
