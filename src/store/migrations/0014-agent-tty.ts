import { type Migration, run } from './migration.ts';

/** Whether a `command` agent runs at a terminal of its own. */
export const agentTty: Migration = {
  name: '0014-agent-tty',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [`ALTER TABLE agent ADD COLUMN tty BIGINT NOT NULL DEFAULT 0 CHECK (tty IN (0,1))`]);
  },
};
