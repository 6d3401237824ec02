import type { Priority } from './statuses.ts';

/** Classes of models; each provider's names for them are settings. */
export type ModelClass = 'high' | 'medium' | 'light';

/** Failed tries from which a stronger model is used (README 2.9). */
export const attemptsForStrongerModel = 2;

/** The class for a task that names none; the first rule that fits wins (L-35). */
export function recommendModel(task: {
  priority: Priority;
  tokensEstimated: number | null;
  attempts: number;
}): ModelClass {
  if (task.priority === 'P0' || task.attempts >= attemptsForStrongerModel) return 'high';
  if (task.tokensEstimated === null || task.tokensEstimated >= 8000) return 'high';
  return task.tokensEstimated >= 1500 ? 'medium' : 'light';
}
