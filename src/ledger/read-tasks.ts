import { forLog, newId } from '../kernel/index.ts';
import { type Blockers, depths, maxChain } from './dependency-graph.ts';
import { taskFields } from './fields.ts';
import { type InputFault, isObject, readFields, type Reference, type Value } from './read-fields.ts';

/** Most tasks in one call. */
export const maxTasksAtOnce = 5000;

/** Most dependencies in one call. */
export const maxEdgesAtOnce = 50_000;

/** A task of a payload, read but not stored. */
export interface ReadTask {
  id: string;
  path: string;
  values: Record<string, Value>;
  references: Reference[];
  /** The name that other tasks of the same payload may call it by. */
  key: string | undefined;
  /** Ids of tasks it waits for, of the payload or of the job. */
  blockedBy: string[];
  skills: string[];
  tools: string[];
}

/** Tasks of the job that new ones may wait for: their ids by id and by codename, and what they wait for themselves. */
export interface KnownTasks {
  ids: ReadonlyMap<string, string>;
  blockers: Blockers;
}

const others = ['key', 'blocked_by', 'skills', 'tools'];

/**
 * Reads a list of new tasks: fields of L-32 and `key`, `blocked_by` (keys, numbers from 1 in the list, or codenames and
 * ids of tasks of the job), `skills`, `tools`. What is wrong is added to `faults`: cycles, chains of more than 100 too.
 */
export function readTasks(list: readonly unknown[], path: string, known: KnownTasks, faults: InputFault[]): ReadTask[] {
  const tasks: ReadTask[] = [];
  const wanted: unknown[] = [];
  for (const [index, item] of list.entries()) {
    const at = `${path}[${index}]`;
    if (!isObject(item)) {
      faults.push({ path: at, code: 'wrong_type', message: 'must be an object' });
      continue;
    }
    const read = readFields(item, taskFields, at, faults, others);
    if (item.key !== undefined && typeof item.key !== 'string') {
      faults.push({ path: `${at}.key`, code: 'wrong_type', message: 'must be a text' });
    }
    if (item.title === undefined) faults.push({ path: `${at}.title`, code: 'missing', message: 'is missing' });
    tasks.push({
      id: newId(),
      path: at,
      ...read,
      key: typeof item.key === 'string' ? item.key : undefined,
      blockedBy: [],
      skills: readNames(item.skills, `${at}.skills`, faults),
      tools: readNames(item.tools, `${at}.tools`, faults),
    });
    wanted.push(item.blocked_by);
  }
  // A list with broken items has other numbers than its writer counted; its links are read when it is mended.
  if (tasks.length === list.length) linkTasks(tasks, wanted, known, faults);
  return tasks;
}

function readNames(value: unknown, path: string, faults: InputFault[]): string[] {
  if (value === undefined || value === null) return [];
  const isFine = (name: unknown): name is string =>
    typeof name === 'string' && /^[\p{L}\p{N}][\p{L}\p{N}._:/+-]{0,127}$/u.test(name);
  if (Array.isArray(value) && value.every(isFine)) return [...new Set(value)];
  faults.push({ path, code: 'wrong_type', message: 'must be a list of names (letters, digits and . _ : / + -)' });
  return [];
}

function linkTasks(
  tasks: readonly ReadTask[],
  wanted: readonly unknown[],
  known: KnownTasks,
  faults: InputFault[],
): void {
  const byKey = new Map<string, string>();
  for (const task of tasks) {
    if (task.key === undefined) continue;
    if (byKey.has(task.key)) faults.push({ path: `${task.path}.key`, code: 'given_twice', message: 'is used twice' });
    byKey.set(task.key, task.id);
  }
  for (const [index, task] of tasks.entries()) {
    const names = wanted[index];
    if (names === undefined || names === null) continue;
    const path = `${task.path}.blocked_by`;
    if (!Array.isArray(names)) {
      faults.push({ path, code: 'wrong_type', message: 'must be a list of tasks' });
      continue;
    }
    const ids = new Set<string>();
    for (const name of names as unknown[]) {
      const id =
        typeof name === 'number'
          ? tasks[name - 1]?.id
          : typeof name === 'string'
            ? (byKey.get(name) ?? known.ids.get(name))
            : undefined;
      if (id) ids.add(id);
      else
        faults.push({ path, code: 'unknown_task', message: `${forLog(name, 80)} is no task of this list or this job` });
    }
    task.blockedBy = [...ids];
  }
  const edges = tasks.reduce((sum, task) => sum + task.blockedBy.length, 0);
  if (edges <= maxEdgesAtOnce) checkGraph(tasks, known, faults);
  else
    faults.push({ path: 'tasks', code: 'too_many', message: `have ${edges} dependencies, at most ${maxEdgesAtOnce}` });
}

function checkGraph(tasks: readonly ReadTask[], known: KnownTasks, faults: InputFault[]): void {
  const blockers = new Map(known.blockers);
  for (const task of tasks) if (task.blockedBy.length > 0) blockers.set(task.id, task.blockedBy);
  const result = depths(blockers);
  const pathOf = new Map(tasks.map((task) => [task.id, task.path]));
  if ('cycle' in result) {
    const paths = result.cycle.map((id) => pathOf.get(id) ?? id);
    const circle = paths.length === 1 ? 'itself' : paths.join(' → ');
    faults.push({ path: paths[0] ?? '', code: 'dag_cycle', message: `waits for itself by a circle: ${circle}` });
    return;
  }
  const tooDeep = tasks.find((task) => (result.depth.get(task.id) ?? 1) > maxChain);
  if (tooDeep) {
    faults.push({
      path: tooDeep.path,
      code: 'dag_too_deep',
      message: `waits at the end of a chain of more than ${maxChain} tasks`,
    });
  }
}
