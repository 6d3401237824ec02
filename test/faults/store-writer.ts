/**
 * Writes to the store given as its argument until it is killed: in each transaction a setting, an event and an effect
 * under one name, and a line with the name once the transaction is acknowledged. Failures of the world are passed over.
 */
import { writeSync } from 'node:fs';

import { enqueueEffect, Fault, openPostgres, openSqlite } from './store-under-test.ts';

const [location = '', run = ''] = process.argv.slice(2);
const store = location.startsWith('postgresql:') ? await openPostgres(location) : await openSqlite(location);
writeSync(1, 'ready\n');

async function writeOn(writer: number): Promise<never> {
  for (let n = 0; ; n++) {
    const name = `${run}.${writer}.${n}`;
    try {
      await store.tx(async (tx) => {
        await tx.db
          .insertInto('setting')
          .values({ key: name, value: '1', updated_by: 'w', updated_at: tx.now })
          .execute();
        await tx.emit({
          kind: 'server.started',
          actor: { kind: 'system', id: 'w' },
          subject: { kind: 'write', id: name },
        });
        await enqueueEffect(tx, { key: name, kind: 'none', payload: {} });
      });
      writeSync(1, `${name}\n`);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }
}

await Promise.all([1, 2, 3, 4].map(writeOn));
