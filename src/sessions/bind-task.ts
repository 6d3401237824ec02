import type { Tx } from '../store/index.ts';

/** Notes the fence of the task claim that a session works under; in the transaction that claims the task for it. */
export async function bindTaskClaim(tx: Tx, sessionId: string, fence: number): Promise<void> {
  await tx.db.updateTable('session').set({ task_fence: fence }).where('id', '=', sessionId).execute();
}

/**
 * Takes over every session that has not ended for this node: an embedded store has one node, whatever it was called before
 * (a machine's name changes, its sessions do not).
 */
export async function adoptNode(tx: Tx, nodeId: string): Promise<void> {
  await tx.db
    .updateTable('session')
    .set({ node_id: nodeId })
    .where('ended_at', 'is', null)
    .where('node_id', '!=', nodeId)
    .execute();
}

/** Takes the tokens of every living session away, and gives how many live: nobody speaks for them any more. */
export async function revokeTokens(tx: Tx): Promise<number> {
  const living = await tx.db
    .updateTable('session')
    .set({ token_hash: null })
    .where('ended_at', 'is', null)
    .returning('id')
    .execute();
  return living.length;
}
