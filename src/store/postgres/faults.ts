import { Fault } from '../../kernel/index.ts';

/** The SQLSTATE of an error of the database, or the system's word for a failed connection. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

/** Whether the connection broke, so that the server's answer is not known. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof Fault) return false;
  const code = codeOf(error);
  if (/^(08...|57P0[1-5])$/.test(code)) return true;
  if (/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return false;
  return connectionWords.test(`${code} ${(error as Error | undefined)?.message ?? ''}`);
}

const connectionWords =
  /ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|Connection terminated|connection.*(closed|ended|timeout)|timeout exceeded when trying to connect|not queryable|has been discarded/i;

/**
 * Whether running the whole use case again can help: serialisation failure and deadlock; a unique index that a racing
 * transaction won (its row is visible the second time, and the use case's own check then refuses as it would on SQLite).
 */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01', '23505'].includes(codeOf(error)) || isConnectionLoss(error);
}

/** The same failure for those above the store: a `Fault` where the world is to blame, else the error as it is. */
export function toFault(error: unknown): unknown {
  const code = codeOf(error);
  const why = (error as Error | undefined)?.message ?? String(error);
  const fault = (name: string, message: string, retryable: boolean): Fault =>
    new Fault(name, message, { cause: error, retryable, facts: { sqlstate: code } });
  if (isConnectionLoss(error))
    return fault('database_unreachable', `The database does not answer (${why}). Nothing was changed.`, true);
  if (code === '53100')
    return fault('disk_full', 'The disk of the database is full. Nothing was changed; make room and try again.', true);
  if (code === '25006')
    return fault('database_read_only', 'The database accepts no writes (a standby?). Point to the primary.', true);
  if (code === '55P03' || code === '40001' || code === '40P01')
    return fault('database_busy', `The database was too busy with the same rows (${why}). Nothing was changed.`, true);
  return error;
}

/** The COMMIT was sent and its answer never came: whether it holds can be told only by an idempotency record. */
export function commitUnknown(cause: unknown): Fault {
  return new Fault(
    'commit_unknown',
    'The connection broke while the transaction was being saved: it may or may not hold. Look at the state, or repeat the command with the same idempotency key.',
    { cause, retryable: true },
  );
}
