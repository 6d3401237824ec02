import { type Kysely, sql } from 'kysely';

export type StoreDialect = 'sqlite' | 'postgres';

/** One forward step of the schema; the same list runs on both databases. */
export interface Migration {
  /** `0001-core`; sorts in order. */
  name: string;
  /** An older binary refuses to open a database with a breaking migration it does not know. */
  breaking: boolean;
  up(db: Kysely<never>, dialect: StoreDialect): Promise<void>;
}

/**
 * Runs statements one after another. They are written once, in the PostgreSQL spelling. Both databases then compare text
 * alike, byte by byte: PostgreSQL gets `COLLATE "C"` on each TEXT column, whatever the locale of the database. On SQLite
 * `BIGINT` and `SMALLINT` become `INTEGER`, `BIGSERIAL` an `INTEGER` key, and each `CREATE TABLE` becomes STRICT.
 */
export async function run(db: Kysely<never>, dialect: StoreDialect, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await sql.raw(dialect === 'sqlite' ? toSqlite(statement) : toPostgres(statement)).execute(db);
  }
}

function toSqlite(statement: string): string {
  const typed = statement
    .replaceAll(/\bBIGSERIAL\b/g, 'INTEGER')
    .replaceAll(/\b(BIGINT|SMALLINT)\b/g, 'INTEGER')
    .replaceAll(/ COLLATE "C"/g, '');
  return /^\s*CREATE TABLE/i.test(typed) ? `${typed.trimEnd().replace(/;$/, '')} STRICT` : typed;
}

/** A column stands at the start of a line, after `(` or a comma, or after ADD COLUMN; a cast (`AS TEXT`) never does. */
const textColumn = /((?:^|[(,]|\bADD COLUMN)\s*\w+\s+TEXT)\b(?! COLLATE)/gim;

function toPostgres(statement: string): string {
  return /^\s*(CREATE|ALTER) TABLE/i.test(statement) ? statement.replaceAll(textColumn, '$1 COLLATE "C"') : statement;
}

/** Refuses `operations` (for example `['UPDATE', 'DELETE']`) on `table` with `message`, on both databases. */
export async function forbid(
  db: Kysely<never>,
  dialect: StoreDialect,
  table: string,
  operations: readonly ('UPDATE' | 'DELETE')[],
  message: string,
  /** SQL condition over OLD and NEW under which the operation is refused; default always. */
  when?: string,
): Promise<void> {
  for (const operation of operations) {
    const name = `${table}_no_${operation.toLowerCase()}`;
    await raise(db, dialect, { name, timing: `BEFORE ${operation}`, table, message, ...(when ? { when } : {}) });
  }
  if (dialect === 'postgres' && operations.includes('DELETE')) {
    await sql
      .raw(`CREATE TRIGGER ${table}_no_truncate BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT
      EXECUTE FUNCTION ${table}_no_delete_fn()`)
      .execute(db);
  }
}

/** Creates a trigger that raises `message` when the SQL condition `when` (over OLD/NEW, may hold sub-selects) is true. */
export async function raise(
  db: Kysely<never>,
  dialect: StoreDialect,
  trigger: { name: string; timing: string; table: string; message: string; when?: string },
): Promise<void> {
  const { name, timing, table, message, when } = trigger;
  if (dialect === 'sqlite') {
    const where = when ? ` WHERE ${when}` : '';
    await sql
      .raw(`CREATE TRIGGER ${name} ${timing} ON ${table} BEGIN SELECT RAISE(ABORT, '${message}')${where}; END`)
      .execute(db);
    return;
  }
  const result = timing.endsWith('DELETE') ? 'OLD' : 'NEW';
  await sql
    .raw(`CREATE FUNCTION ${name}_fn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF ${when ?? 'TRUE'} THEN RAISE EXCEPTION '${message}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
    RETURN ${result}; END $$`)
    .execute(db);
  await sql.raw(`CREATE TRIGGER ${name} ${timing} ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}_fn()`).execute(db);
}
