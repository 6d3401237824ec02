import { createServer } from 'node:net';
import { hostname } from 'node:os';

import type { Kysely } from 'kysely';

import { type Actor, Fault } from '../kernel/index.ts';
import type { Schema, Store, Tx } from '../store/index.ts';

/** Where ports come from: below the range that systems give to outgoing connections. */
export const portRange = { first: 20_000, last: 23_999 } as const;

/**
 * Leases a port for each of `names` to `ownerKey`, unique on this machine until released (sessions decision 9); asked again it
 * gives the same. Numbers that some other program listens on are passed over. The first choice follows from the owner, so
 * that a folder mostly gets the same numbers again. Throws `Fault` `no_port_free`.
 */
export async function leasePorts(
  store: Pick<Store, 'tx' | 'read'>,
  request: { ownerKey: string; names: readonly string[]; actor: Actor },
): Promise<Record<string, number>> {
  const { ownerKey } = request;
  const names = [...new Set(['default', ...request.names])];
  const machine = hostname();
  const size = portRange.last - portRange.first + 1;
  let at = spread(ownerKey) % size;
  for (let looked = 0; looked < size;) {
    const held = await portsOf(store.read, ownerKey);
    const missing = names.filter((name) => held[name] === undefined);
    if (missing.length === 0) return Object.fromEntries(names.map((name) => [name, held[name]!]));
    const free: number[] = [];
    for (; free.length < missing.length + 4 && looked < size; looked += 1, at = (at + 1) % size) {
      const port = portRange.first + at;
      if (await isFree(port)) free.push(port);
    }
    await store.tx((tx) => takePorts(tx, { ...request, machine, missing, free }));
  }
  throw new Fault(
    'no_port_free',
    `No port from ${portRange.first} to ${portRange.last} is free for work folder ${ownerKey}; \`chantier status\` names the sessions that hold them.`,
  );
}

/** Takes as many of `free` as are still nobody's; another node may have been faster for some. */
async function takePorts(
  tx: Tx,
  request: { ownerKey: string; machine: string; missing: readonly string[]; free: readonly number[]; actor: Actor },
): Promise<void> {
  const { ownerKey, machine, free } = request;
  const open = [...request.missing];
  const taken: Record<string, number> = {};
  for (const port of free) {
    const name = open[0];
    if (name === undefined) break;
    const row = await tx.db
      .insertInto('port_lease')
      .values({ machine, port, owner_key: ownerKey, name, leased_at: tx.now })
      .onConflict((conflict) => conflict.doNothing())
      .returning('port')
      .executeTakeFirst();
    if (row) taken[open.shift()!] = port;
  }
  if (Object.keys(taken).length === 0) return;
  const subject = { kind: 'work-folder', id: ownerKey };
  await tx.emit({ kind: 'work-folder.ports-leased', actor: request.actor, subject, facts: { ports: taken } });
}

/** The ports of one owner by name. */
export async function portsOf(db: Kysely<Schema>, ownerKey: string): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('port_lease')
    .select(['name', 'port'])
    .where('owner_key', '=', ownerKey)
    .orderBy('name')
    .execute();
  return Object.fromEntries(rows.map(({ name, port }) => [name, Number(port)]));
}

/** Gives back what `ownerKey` holds; nothing happens when it holds nothing. In the transaction that ends its session or folder. */
export async function releasePorts(tx: Tx, ownerKey: string): Promise<void> {
  await tx.db.deleteFrom('port_lease').where('owner_key', '=', ownerKey).execute();
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function spread(text: string): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + char.codePointAt(0)!) % 1_000_003;
  return sum;
}
