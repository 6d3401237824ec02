/** Who does something (design section 4). Every event carries one. */
export type Actor =
  | {
      kind: 'operator';
      id: string;
      /** How the human came in. */ channel: 'console' | 'terminal' | 'telegram' | 'demo';
    }
  | { kind: 'operator-cli'; id: string }
  | { kind: 'viewer'; id: string }
  | { kind: 'session'; id: string; generation: number }
  | { kind: 'system'; id: string };

/** The server itself: reconcilers, clocks, cascades. `part` names the one that acts. */
export function systemActor(part: string): Actor {
  return { kind: 'system', id: part };
}
