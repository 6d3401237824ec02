import { forLog, refuse, type Refused } from '../kernel/index.ts';
import type { Db } from './rows.ts';
import type { InputFault, Reference, Value } from './read-fields.ts';

/**
 * Looks up what the references name and gives the values by path. Agents must be active (L-33f), scopes in the list and
 * not switched off; what is not found becomes a fault. One query for each kind, however many there are.
 */
export async function resolveReferences(
  db: Db,
  references: readonly Reference[],
  faults: InputFault[],
): Promise<Map<string, Value>> {
  const found = new Map<string, Value>();
  for (const to of ['project_scope', 'task_scope', 'client', 'agent'] as const) {
    const wanted = references.filter((reference) => reference.to === to);
    if (wanted.length === 0) continue;
    const known = await lookUp(db, to, [...new Set(wanted.map((reference) => reference.name))]);
    for (const reference of wanted) {
      const value = known.get(reference.name);
      if (value !== undefined) found.set(reference.path, value);
      else faults.push(unknownReference(reference));
    }
  }
  return found;
}

async function lookUp(db: Db, to: Reference['to'], names: string[]): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  if (to === 'project_scope' || to === 'task_scope') {
    const rows = await db
      .selectFrom(to)
      .select('codename')
      .where('codename', 'in', names)
      .where('active', '=', 1)
      .execute();
    for (const row of rows) known.set(row.codename, row.codename);
    return known;
  }
  const rows =
    to === 'agent'
      ? await db
          .selectFrom('agent')
          .select(['id', 'codename'])
          .where((eb) => eb.or([eb('codename', 'in', names), eb('id', 'in', names)]))
          .where('active', '=', 1)
          .execute()
      : await db
          .selectFrom('client')
          .select(['id', 'codename'])
          .where((eb) => eb.or([eb('codename', 'in', names), eb('id', 'in', names)]))
          .execute();
  for (const row of rows) {
    known.set(row.id, row.id);
    known.set(row.codename, row.id);
  }
  return known;
}

const words: Readonly<Record<Reference['to'], { code: string; text: string }>> = {
  project_scope: { code: 'unknown_scope', text: 'is not a project scope of this install' },
  task_scope: { code: 'unknown_scope', text: 'is not a task scope of this install' },
  client: { code: 'unknown_client', text: 'is not a known client' },
  agent: { code: 'unknown_agent', text: 'is not an active agent' },
};

function unknownReference(reference: Reference): InputFault {
  const { code, text } = words[reference.to];
  return { path: reference.path, code, message: `${forLog(reference.name, 80)} ${text}` };
}

/** The one refusal that reports every fault of a payload together (L-33). */
export function validationRefusal(what: string, faults: readonly InputFault[]): Refused {
  const list = faults.map((fault) => `${fault.path} ${fault.message}`).join('; ');
  const count = faults.length === 1 ? 'One thing is' : `${faults.length} things are`;
  return refuse(
    'invalid',
    'validation_failed',
    `${count} wrong with the ${what}; nothing was created or changed: ${list}`,
    {
      faults: faults.map((fault) => ({ ...fault })),
    },
  );
}
