import { type Actor, canonicalJson, newId, ok, refuse, type Result, textFault } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import { isCodename } from './fields.ts';
import type { Db } from './rows.ts';

/** Adds a client. Refuses a bad or taken codename. */
export async function addClient(
  tx: Tx,
  client: { codename: string; name: string; emailDomains?: readonly string[]; actor: Actor },
): Promise<Result<Schema['client']>> {
  const fault = textFault(client.name, { min: 1, max: 300 });
  if (!isCodename(client.codename) || fault) {
    return refuse(
      'invalid',
      'bad_client',
      `A client has a codename of 4 to 64 of a-z, 0-9 and -, and a name${fault ? `: this one ${fault}` : ''}.`,
    );
  }
  const row = {
    id: newId<string>(),
    codename: client.codename,
    name: client.name,
    email_domains: canonicalJson([...(client.emailDomains ?? [])]),
    created_at: tx.now,
  };
  const inserted = await tx.db
    .insertInto('client')
    .values(row)
    .onConflict((conflict) => conflict.column('codename').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) return refuse('duplicate', 'client_taken', `The client ${client.codename} is there already.`);
  await tx.emit({ kind: 'client.added', actor: client.actor, subject: { kind: 'client', id: row.id } });
  return ok(row);
}

/** All clients, by codename. */
export function listClients(db: Db): Promise<Schema['client'][]> {
  return db.selectFrom('client').selectAll().orderBy('codename').execute();
}
