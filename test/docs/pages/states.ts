import { callMoves, callStateDocs, capabilityMoves, capabilityStateDocs } from '../../../src/gate/index.ts';
import type { MoveTable } from '../../../src/kernel/index.ts';
import {
  jobMoves,
  jobReopenings,
  jobStateDocs,
  projectMoves,
  projectReopenings,
  projectStateDocs,
  taskMoves,
  taskReopenings,
  taskStateDocs,
} from '../../../src/ledger/index.ts';
import { landingMoves, landingStateDocs, pullRequestMoves, pullRequestStateDocs } from '../../../src/review/index.ts';
import { sessionMoves, sessionStateDocs } from '../../../src/sessions/index.ts';
import { code, type Page, page, table } from './page.ts';

interface Machine {
  name: string;
  title: string;
  source: string;
  moves: MoveTable<string>;
  docs: Readonly<Record<string, string>>;
  /** The states that a new one may begin in. */
  starts: readonly string[];
  /** Where a human's `reopen` takes what is over. */
  reopenings?: Readonly<Record<string, string | undefined>>;
}

/** Every state machine of the program. */
export const machines: readonly Machine[] = [
  {
    name: 'project',
    starts: ['planning', 'dev'],
    title: 'Project',
    source: 'ledger/statuses.ts',
    moves: projectMoves,
    docs: projectStateDocs,
    reopenings: projectReopenings,
  },
  {
    name: 'job',
    starts: ['discovery', 'planning', 'dev'],
    title: 'Job',
    source: 'ledger/statuses.ts',
    moves: jobMoves,
    docs: jobStateDocs,
    reopenings: jobReopenings,
  },
  {
    name: 'task',
    starts: ['todo'],
    title: 'Task',
    source: 'ledger/statuses.ts',
    moves: taskMoves,
    docs: taskStateDocs,
    reopenings: taskReopenings,
  },
  {
    name: 'session',
    starts: ['STARTING'],
    title: 'Session',
    source: 'sessions/states.ts',
    moves: sessionMoves,
    docs: sessionStateDocs,
  },
  {
    name: 'capability',
    starts: ['provisional', 'approved', 'blocked'],
    title: 'Capability',
    source: 'gate/capability.ts',
    moves: capabilityMoves,
    docs: capabilityStateDocs,
  },
  {
    name: 'call',
    starts: ['allowed', 'refused', 'waiting'],
    title: 'Call',
    source: 'gate/call.ts',
    moves: callMoves,
    docs: callStateDocs,
  },
  {
    name: 'pull-request',
    starts: ['awaiting_risk'],
    title: 'Pull request',
    source: 'review/pull-request.ts',
    moves: pullRequestMoves,
    docs: pullRequestStateDocs,
  },
  {
    name: 'landing',
    starts: ['building'],
    title: 'Landing',
    source: 'review/landing.ts',
    moves: landingMoves,
    docs: landingStateDocs,
  },
];

/** A page with a diagram for each state machine. */
export function statePages(): Page[] {
  return machines.map((machine) =>
    page(
      `docs/states/${machine.name}.md`,
      `${machine.title}: states`,
      `Made from the table of moves in \`src/${machine.source}\`. Every move that is not drawn is refused.`,
      diagramOf(machine),
      table(
        ['State', 'Meaning, and who leaves it'],
        Object.keys(machine.moves).map((state) => [code(state), machine.docs[state]!]),
      ),
      ...(machine.reopenings ? ['*reopen* is a human with a reason; it is not a move of the table.'] : []),
    ),
  );
}

function diagramOf({ moves, reopenings, starts }: Machine): string {
  const arrows = Object.entries(moves).flatMap(([from, targets]) => targets.map((to) => `  ${from} --> ${to}`));
  const again = Object.entries(reopenings ?? {}).flatMap(([from, to]) => (to ? [`  ${from} --> ${to}: reopen`] : []));
  const ends = Object.entries(moves).flatMap(([state, targets]) =>
    targets.length === 0 ? [`  ${state} --> [*]`] : [],
  );
  const begin = starts.map((state) => `  [*] --> ${state}`);
  return ['```mermaid', 'stateDiagram-v2', ...begin, ...arrows, ...again, ...ends, '```'].join('\n');
}
