import { type Migration, run } from './migration.ts';

/** Events are asked for by kind: in pages, by followers, for the log of rejections (S7.4). */
export const eventKind: Migration = {
  name: '0008-event-kind',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [`CREATE INDEX event_kind_ix ON event (kind, seq)`]);
  },
};
