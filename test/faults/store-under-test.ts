export { pathsOf } from '../../src/config/index.ts';
export { Fault } from '../../src/kernel/index.ts';
export {
  acquireInstanceLock,
  enqueueEffect,
  openPostgres,
  openSqlite,
  openStore,
  type Store,
  verifyStore,
} from '../../src/store/index.ts';
