import { core } from './0001-core.ts';
import { ledger } from './0002-ledger.ts';
import { sessions } from './0003-sessions.ts';
import { gate } from './0004-gate.ts';
import { review } from './0005-review.ts';
import { forge } from './0006-forge.ts';
import { access } from './0007-access.ts';
import { eventKind } from './0008-event-kind.ts';
import { workFolders } from './0009-work-folders.ts';
import { accountLimits } from './0010-account-limits.ts';
import { watched } from './0011-watched.ts';
import { takeover } from './0012-takeover.ts';
import { notify } from './0013-notify.ts';
import { agentTty } from './0014-agent-tty.ts';
import { outsidePeers } from './0015-outside-peers.ts';
import { spending } from './0016-spending.ts';
import { oneBill } from './0017-one-bill.ts';
import type { Migration } from './migration.ts';

export type { Migration, StoreDialect } from './migration.ts';
export { forbid, raise, run } from './migration.ts';

/** Every migration, oldest first; the name of each says what it brings. */
export const migrations: readonly Migration[] = [
  core,
  // One line each, so that parallel work merges.
  ledger,
  sessions,
  gate,
  review,
  forge,
  access,
  eventKind,
  workFolders,
  accountLimits,
  watched,
  takeover,
  notify,
  agentTty,
  outsidePeers,
  spending,
  oneBill,
];
