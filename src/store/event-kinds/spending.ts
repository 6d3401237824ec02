/** Event kinds of `spending`, each with one line for the docs. */
export const spendingEvents = {
  'budget.changed': 'A cap of a project or a task was set; facts are the caps.',
  'budget.warned': 'A budget is used up to 80 %; once for each cap.',
  'budget.exhausted': 'A budget leaves no room for the next turn; a decision `budget` is open.',
  'budget.raised': 'A human raised a cap; facts say by how much.',
  'budget.passed': 'A human let one turn pass beyond a cap.',
  'budget.stopped': 'A human stopped what a cap holds.',
  'budget.released': 'A reservation whose turn nobody runs any more was given back.',
} as const;
