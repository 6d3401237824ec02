/** A state machine as data: from each state, the states it may go to (style "State"). */
export type MoveTable<S extends string> = Readonly<Record<S, readonly S[]>>;

/** Whether `table` lists the move; self-loops only where listed. */
export function mayMove<S extends string>(table: MoveTable<S>, from: S, to: S): boolean {
  return table[from].includes(to);
}

/** The states from which `to` can be reached in one move; what a guarded `update … where state in (…)` takes. */
export function statesBefore<S extends string>(table: MoveTable<S>, to: S): S[] {
  return (Object.keys(table) as S[]).filter((from) => table[from].includes(to));
}

/** Whether nothing leaves `state`. */
export function isTerminal<S extends string>(table: MoveTable<S>, state: S): boolean {
  return table[state].length === 0;
}
