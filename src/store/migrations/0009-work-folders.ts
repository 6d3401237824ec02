import { type Migration, run } from './migration.ts';

/** Port numbers that work folders hold. Source: design section 6 "Environment of a work folder", sessions decision 9. */
export const workFolders: Migration = {
  name: '0009-work-folders',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE port_lease (
        machine TEXT NOT NULL,
        port BIGINT NOT NULL CHECK (port BETWEEN 1 AND 65535),
        owner_key TEXT NOT NULL,
        name TEXT NOT NULL,
        leased_at BIGINT NOT NULL,
        PRIMARY KEY (machine, port),
        UNIQUE (owner_key, name))`,
    ]);
  },
};
