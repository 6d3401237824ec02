import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { SessionRow } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';

/** A session's files and its process are on the node that started it; refuses elsewhere and says where. */
export function requireHere(
  ctx: Pick<AppContext, 'nodeId'>,
  session: Pick<SessionRow, 'node_id' | 'work_key'>,
): Result<undefined> {
  if (session.node_id === ctx.nodeId) return ok(undefined);
  return refuse(
    'wrong-state',
    'other_node',
    `Session ${session.work_key} runs on node ${session.node_id}; ask that one, its files are there.`,
    { node: session.node_id },
  );
}
