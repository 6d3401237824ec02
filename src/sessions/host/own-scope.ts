import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { promisify } from 'node:util';

/** How a generation gets a scope of its own: what stands before its command, and what that needs in its environment. */
export interface OwnScope {
  prefix: readonly string[];
  env: Readonly<Record<string, string>>;
}

let found: Promise<OwnScope | undefined> | undefined;

/**
 * The machine's systemd as far as it makes scopes for us, tried once by making one. In a scope of its own a generation outlives a
 * restart of the server's unit and the end of the log-in that started it (field case 64). `undefined` where there is none.
 */
export function findOwnScope(): Promise<OwnScope | undefined> {
  return (found ??= existsSync('/run/systemd/system')
    ? tryScope(findProgram(), process.env, process.getuid?.() === 0)
    : Promise.resolve(undefined));
}

/** As `findOwnScope` with a given `systemd-run`. */
export async function tryScope(
  program: string | undefined,
  serverEnv: NodeJS.ProcessEnv,
  isRoot: boolean,
): Promise<OwnScope | undefined> {
  if (program === undefined) return undefined;
  const names = isRoot ? [] : ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];
  const env = Object.fromEntries(names.flatMap((name) => (serverEnv[name] ? [[name, serverEnv[name]]] : [])));
  const prefix = [program, ...(isRoot ? [] : ['--user']), '--scope', '--quiet', '--collect'];
  try {
    await promisify(execFile)(prefix[0]!, [...prefix.slice(1), '--', '/bin/true'], { env, timeout: 5_000 });
    return { prefix, env };
  } catch {
    return undefined;
  }
}

/** The command that runs `/bin/sh script` in a scope named after `run`; what only systemd needed is taken away again. */
export function commandInScope(scope: OwnScope, run: string, script: string): string[] {
  const unit = `chantier-${run.replaceAll(/[^A-Za-z0-9]+/g, '-')}`;
  const unset = Object.keys(scope.env).flatMap((name) => ['-u', name]);
  return [...scope.prefix, `--unit=${unit}`, '--', '/usr/bin/env', ...unset, '/bin/sh', script];
}

function findProgram(): string | undefined {
  return ['/usr/bin/systemd-run', '/bin/systemd-run'].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
