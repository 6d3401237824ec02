import type { Tx } from '../store/index.ts';

/** Notes the fence of the task claim that a session works under; in the transaction that claims the task for it. */
export async function bindTaskClaim(tx: Tx, sessionId: string, fence: number): Promise<void> {
  await tx.db.updateTable('session').set({ task_fence: fence }).where('id', '=', sessionId).execute();
}
