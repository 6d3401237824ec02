import type { Kysely } from 'kysely';

import type { Schema } from '../../store/index.ts';

/** Either a transaction's connection or the reading one. */
export type Db = Kysely<Schema>;
