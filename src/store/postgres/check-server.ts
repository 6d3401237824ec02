import { Client } from 'pg';

import { Fault } from '../../kernel/index.ts';
import { codeOf } from './faults.ts';
import { sessionSettings } from './pool.ts';

const oldestServer = 150_000;

/**
 * Refuses a server that could lose or hide what was acknowledged: older than 15, `fsync` or `synchronous_commit` off, a
 * standby, or a pooler that gives the connection to others between transactions or swallows notifications (design 5).
 */
export async function checkServer(url: string, waitMs: number): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: waitMs,
    application_name: 'chantier',
  });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => {});
    throw unreachable(error);
  }
  try {
    checkServerFacts(await readServerFacts(client));
    await checkNotifications(client, waitMs);
  } finally {
    await client.end().catch(() => {});
  }
}

/** What is asked of a server before it is trusted. */
export interface ServerFacts {
  version: number;
  fsync: string;
  synchronousCommit: string;
  fullPageWrites: string;
  readOnly: string;
}

/** Throws the `Fault` that names the first thing wrong; passes otherwise. */
export function checkServerFacts(facts: ServerFacts): void {
  if (facts.version < oldestServer) {
    const version = `${Math.floor(facts.version / 10_000)}`;
    throw new Fault('postgres_too_old', `PostgreSQL ${version} is too old; version 15 or newer is needed.`);
  }
  for (const [name, value] of [
    ['fsync', facts.fsync],
    ['synchronous_commit', facts.synchronousCommit],
    ['full_page_writes', facts.fullPageWrites],
  ] as const) {
    if (value !== 'off') continue;
    throw new Fault(
      'postgres_unsafe',
      `PostgreSQL runs with ${name} = off: a power cut would lose acknowledged work. Set it to on (for this database: ALTER DATABASE … SET ${name} = on, or postgresql.conf) and start again.`,
      { facts: { setting: name } },
    );
  }
  if (facts.readOnly === 'on')
    throw new Fault('database_read_only', 'The database accepts no writes (a standby?). Point to the primary.');
}

async function readServerFacts(client: Client): Promise<ServerFacts> {
  await client.query(sessionSettings);
  const { rows } = await client.query<ServerFacts>(
    `select current_setting('server_version_num')::int as "version", current_setting('fsync') as "fsync",
      current_setting('synchronous_commit') as "synchronousCommit",
      current_setting('full_page_writes') as "fullPageWrites",
      current_setting('transaction_read_only') as "readOnly"`,
  );
  return rows[0] as ServerFacts;
}

/** A notification sent by a later transaction must arrive on the connection that listens. */
async function checkNotifications(client: Client, waitMs: number): Promise<void> {
  const channel = `chantier_check_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const heard = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), Math.min(waitMs, 3000));
    client.on('notification', (message) => {
      if (message.channel !== channel) return;
      clearTimeout(timer);
      resolve(true);
    });
  });
  try {
    await client.query(`listen ${channel}`);
    await client.query(`notify ${channel}`);
  } catch (error) {
    throw poolerFault(error);
  }
  if (!(await heard)) throw poolerFault(undefined);
  await client.query(`unlisten ${channel}`);
}

function poolerFault(cause: unknown): Fault {
  return new Fault(
    'pooler_without_listen',
    'Notifications do not arrive over this connection: a pooler in transaction mode stands between. Connect to PostgreSQL itself, or to the pooler in session mode.',
    cause === undefined ? {} : { cause },
  );
}

function unreachable(error: unknown): unknown {
  const why = (error as Error).message;
  if (codeOf(error).startsWith('28') || codeOf(error) === '3D000')
    return new Fault(
      'database_refused',
      `PostgreSQL refuses the connection: ${why}. Check user, password and database.`,
      {
        cause: error,
      },
    );
  return new Fault('database_unreachable', `PostgreSQL cannot be reached: ${why || 'no answer'}.`, {
    cause: error,
    retryable: true,
  });
}
