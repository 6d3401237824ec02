import { Fault } from '../../kernel/index.ts';

const meanings: Readonly<Record<number, { code: string; message: string; retryable?: boolean }>> = {
  5: { code: 'database_busy', message: 'Another process holds the database.', retryable: true },
  6: { code: 'database_busy', message: 'Another process holds the database.', retryable: true },
  8: { code: 'database_read_only', message: 'The database cannot be written: check who owns the file and its folder.' },
  10: { code: 'disk_error', message: 'The disk does not do what it is told: check its health and its room.' },
  11: {
    code: 'database_damaged',
    message: 'The database is damaged: stop and restore the latest backup (chantier restore).',
  },
  13: { code: 'disk_full', message: 'The disk is full. Make room and try again.', retryable: true },
  14: { code: 'database_read_only', message: 'The database cannot be opened for writing: check who owns its folder.' },
  26: {
    code: 'database_damaged',
    message: 'The file is not a database: restore the latest backup (chantier restore).',
  },
};

/** The same failure for those above the store: a `Fault` where disk or file are to blame, else the error as it is. */
export function toFault(error: unknown, file: string): unknown {
  if (error instanceof Fault) return error;
  const system = systemFault(error, file);
  if (system) return system;
  const { errcode, code, message } = (error ?? {}) as { errcode?: number; code?: string; message?: string };
  if (code !== 'ERR_SQLITE_ERROR' || errcode === undefined) return error;
  const meaning = meanings[errcode & 0xff];
  if (!meaning) return error;
  return new Fault(meaning.code, `${meaning.message} (${file}: ${message}) Nothing was changed.`, {
    cause: error,
    retryable: meaning.retryable ?? false,
    facts: { sqlite: errcode },
  });
}

/** Failures of the file system itself, before SQLite is asked. */
function systemFault(error: unknown, file: string): Fault | undefined {
  const { code, syscall, message } = (error ?? {}) as { code?: string; syscall?: string; message?: string };
  // Making folders, Node says ENOENT where the file system is read-only, and EEXIST or ENOTDIR where a file is in the way.
  const cannotMake = syscall === 'mkdir' && ['ENOENT', 'EEXIST', 'ENOTDIR'].includes(code ?? '');
  if (cannotMake || code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return new Fault('database_read_only', `${file} cannot be written: check who owns its folder. (${message})`, {
      cause: error,
    });
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('disk_full', `The disk is full. Make room and try again. (${message})`, {
      cause: error,
      retryable: true,
    });
  return undefined;
}
