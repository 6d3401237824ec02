/** Opens the store in the home given as its argument, writes until that fails or 2000 writes are done, and prints one JSON line. */
import { acquireInstanceLock, Fault, openStore, pathsOf, type Store } from './store-under-test.ts';

const paths = pathsOf(process.argv[2] ?? '');
let store: Store | undefined;
let written = 0;

try {
  acquireInstanceLock(paths);
  store = await openStore({ home: paths });
  for (; written < 2000; written++) {
    const name = `n${written}`;
    await store.tx(async (tx) => {
      await tx.db
        .insertInto('setting')
        .values({ key: name, value: 'x'.repeat(4000), updated_by: 'w', updated_at: tx.now })
        .execute();
      await tx.emit({
        kind: 'server.started',
        actor: { kind: 'system', id: 'w' },
        subject: { kind: 'write', id: name },
      });
    });
  }
  print({ written });
} catch (error) {
  const kept = store ? (await store.read.selectFrom('setting').select('key').execute()).length : 0;
  print({
    written,
    kept,
    fault: error instanceof Fault ? error.code : String(error),
    message: (error as Error).message,
  });
}
await store?.close().catch(() => {});

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
