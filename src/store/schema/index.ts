import type { AccessSchema } from './access.ts';
import type { CoreSchema } from './core.ts';
import type { ForgeSchema } from './forge.ts';
import type { GateSchema } from './gate.ts';
import type { LedgerSchema } from './ledger.ts';
import type { NotifySchema } from './notify.ts';
import type { ReviewSchema } from './review.ts';
import type { SessionsSchema } from './sessions.ts';
import type { WatchedSchema } from './watched.ts';
import type { SpendingSchema } from './spending.ts';

/** Every table of the store, the same on SQLite and PostgreSQL: ids and JSON as text, times as epoch ms, booleans as 0/1. */
export interface Schema
  extends
    CoreSchema,
    LedgerSchema,
    SessionsSchema,
    GateSchema,
    ReviewSchema,
    ForgeSchema,
    AccessSchema,
    WatchedSchema,
    NotifySchema,
    SpendingSchema {}
