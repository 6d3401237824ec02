import { isCodename, jobFields, projectFields } from './fields.ts';
import { codenameFault, type InputFault, isObject, readFields, type Reference, type Value } from './read-fields.ts';
import { maxTasksAtOnce, type ReadTask, readTasks } from './read-tasks.ts';
import type { JobRow } from './rows.ts';

/** A payload of `createProject`, read but not checked against the database. */
export interface Skeleton {
  codename: string;
  project: ReadPart;
  job: ReadJob;
  tasks: ReadTask[];
}

export interface ReadPart {
  path: string;
  values: Record<string, Value>;
  references: Reference[];
}

/** A job of a payload. */
export interface ReadJob extends ReadPart {
  codename: string;
  kind: JobRow['kind'];
  status: 'discovery' | 'planning' | 'dev';
}

const noTasks = { ids: new Map<string, string>(), blockers: new Map<string, readonly string[]>() };

/**
 * Reads the payload of an atomic creation, in our names or the seed's (L-32, decision 19). Everything that is wrong is
 * added to `faults`; what could be read is given back, so that the database checks run on it too.
 */
export function readSkeleton(payload: unknown, faults: InputFault[]): Skeleton {
  const given = isObject(payload) ? payload : {};
  if (!isObject(payload)) faults.push({ path: 'payload', code: 'wrong_type', message: 'must be a JSON object' });
  const names = ['codename', 'first_job', 'first_travail', 'first_tasks', 'first_taches', 'first_task', 'first_tache'];
  const project = readFields(given, projectFields, '', faults, names);
  if (given.title === undefined) faults.push({ path: 'title', code: 'missing', message: 'is missing' });
  const codename = readCodename(given.codename, 'codename', faults);
  const firstJob = oneOf(given, 'first_job', 'first_travail', faults);
  const job = readJob(firstJob.value, firstJob.path, faults);
  return { codename, project: { path: '', ...project }, job, tasks: readFirstTasks(given, faults) };
}

/** Reads one job of a payload: fields of L-12 and `codename`, `kind`, `status`. */
export function readJob(value: unknown, path: string, faults: InputFault[], others: readonly string[] = []): ReadJob {
  const given = isObject(value) ? value : {};
  if (value === undefined) faults.push({ path, code: 'missing', message: 'is missing' });
  else if (!isObject(value)) faults.push({ path, code: 'wrong_type', message: 'must be an object' });
  const read = readFields(given, jobFields, path, faults, ['codename', 'kind', 'status', ...others]);
  const at = (name: string): string => (path ? `${path}.${name}` : name);
  if (isObject(value) && given.title === undefined) {
    faults.push({ path: at('title'), code: 'missing', message: 'is missing' });
  }
  const codename = isObject(value) ? readCodename(given.codename, at('codename'), faults) : '';
  const kind = given.kind ?? (given.status === 'discovery' ? 'discovery' : 'implementation');
  if (kind !== 'discovery' && kind !== 'implementation') {
    faults.push({ path: at('kind'), code: 'unknown_choice', message: 'must be discovery or implementation' });
  }
  const isDiscovery = kind === 'discovery';
  const status = given.status ?? (isDiscovery ? 'discovery' : 'dev');
  const allowed: unknown[] = isDiscovery ? ['discovery', 'planning', 'dev'] : ['planning', 'dev'];
  if (!allowed.includes(status)) {
    faults.push({ path: at('status'), code: 'unknown_choice', message: `must be one of ${allowed.join(', ')}` });
  }
  return {
    path,
    ...read,
    codename,
    kind: isDiscovery ? 'discovery' : 'implementation',
    status: status as ReadJob['status'],
  };
}

/** The one list of first tasks: `first_tasks`, or `first_task` alone, in our names or the seed's; never both (L-33e). */
function readFirstTasks(given: Record<string, unknown>, faults: InputFault[]): ReadTask[] {
  const many = oneOf(given, 'first_tasks', 'first_taches', faults);
  const single = oneOf(given, 'first_task', 'first_tache', faults);
  if (many.value !== undefined && single.value !== undefined) {
    faults.push({ path: single.path, code: 'given_twice', message: `and ${many.path} exclude each other` });
  }
  if (many.value === undefined && single.value === undefined) {
    faults.push({
      path: 'first_tasks',
      code: 'missing',
      message: 'is missing: a project begins with at least one task',
    });
    return [];
  }
  const list = many.value ?? [single.value];
  if (!Array.isArray(list) || list.length === 0 || list.length > maxTasksAtOnce) {
    faults.push({ path: many.path, code: 'no_tasks', message: `must be a list of 1 to ${maxTasksAtOnce} tasks` });
    return [];
  }
  return readTasks(list, many.value === undefined ? single.path : many.path, noTasks, faults);
}

function readCodename(value: unknown, path: string, faults: InputFault[]): string {
  if (typeof value === 'string' && isCodename(value)) return value;
  const { code, fault } = codenameFault(value ?? '');
  faults.push({ path, code, message: fault });
  return '';
}

function oneOf(
  given: Record<string, unknown>,
  ours: string,
  seeds: string,
  faults: InputFault[],
): { value: unknown; path: string } {
  if (given[ours] !== undefined && given[seeds] !== undefined) {
    faults.push({ path: seeds, code: 'given_twice', message: `says the same as ${ours}; give one of them` });
  }
  return given[ours] === undefined && given[seeds] !== undefined
    ? { value: given[seeds], path: seeds }
    : { value: given[ours], path: ours };
}
