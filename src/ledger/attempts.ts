import { mustOk, systemActor } from '../kernel/index.ts';
import { openDecision, type Tx } from '../store/index.ts';
import { moveTask } from './move-status.ts';
import { recommendModel } from './recommend-model.ts';
import type { TaskRow } from './rows.ts';

/** Failed tries after which only a human starts a task again (README 2.9). */
export const maxAttempts = 3;

/** The columns that change when a task has failed `attempts` times: from the second on a stronger model is named. */
export function afterAttempts(task: TaskRow, attempts: number): Partial<TaskRow> {
  if (task.model_source === 'explicit') return { attempts };
  const model = recommendModel({ priority: task.priority, tokensEstimated: task.tokens_estimated, attempts });
  return { attempts, model_recommended: model, model_source: 'rule' };
}

/** Stops a task (todo or doing) that failed as often as it may, and asks a human once. */
export async function stopIfExhausted(tx: Tx, task: TaskRow, cause: string): Promise<TaskRow> {
  if (task.attempts < maxAttempts || task.status === 'paused') return task;
  const stopped = mustOk(
    await moveTask(tx, task, {
      to: 'paused',
      event: 'task.attempts-exhausted',
      actor: systemActor('attempts'),
      cause,
      facts: { attempts: task.attempts },
    }),
  );
  await openDecision(tx, {
    kind: 'attempts_exhausted',
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    title: `Task ${task.codename} failed ${task.attempts} times: try it again, change it, or cancel it`,
    detail: { task: task.id, codename: task.codename, attempts: task.attempts, model: task.model_recommended },
  });
  return stopped.row;
}
