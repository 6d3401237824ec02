import type { Selectable } from 'kysely';

import type { Schema } from '../store/index.ts';

/** Rows as stored. */
export type CapabilityRow = Selectable<Schema['capability']>;
export type GateCallRow = Selectable<Schema['gate_call']>;
