export { Fault } from '../../src/kernel/index.ts';
export { enqueueEffect, openPostgres, openSqlite, type Store, verifyStore } from '../../src/store/index.ts';
