import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { type InstancePaths, pathsOf } from '../config/index.ts';
import { sha256 } from '../kernel/index.ts';
import { failWith, type Outcome } from './outcome.ts';

const mark = '# Written by `chantier up --install-service`; `chantier up --uninstall-service` removes it.';
/** Without a sign of life for so long systemd starts the server again; agents go on (field case 11). */
const watchdogSeconds = 60;

/** What a unit is made of. */
export interface UnitParts {
  /** Program and arguments that serve, absolute. */
  command: readonly string[];
  home: string;
  path: string;
  /** Whether `systemd-notify` is there to tell that the server is well. */
  notifies: boolean;
}

/**
 * The text of the unit: agents outlive its restarts (`KillMode=process`), a hung server does not (watchdog). A start may take
 * 15 min, since a migration that is ended in the middle begins anew, with one more backup each time. By `env`, because
 * systemd takes fewer characters in the name of a program than in its arguments.
 */
export function unitText({ command, home, path, notifies }: UnitParts): string {
  const watch = notifies
    ? ['Type=notify', 'NotifyAccess=all', `WatchdogSec=${watchdogSeconds}`, 'TimeoutStartSec=900']
    : ['Type=exec'];
  return `${mark}
[Unit]
Description=Chantier (${home.replaceAll('%', '%%')})

[Service]
ExecStart=/usr/bin/env ${command.map((word) => quoteWord(word, true)).join(' ')}
Environment=${quoteWord(`CHANTIER_HOME=${home}`)} ${quoteWord(`PATH=${path}`)}
${watch.join('\n')}
Restart=on-failure
RestartSec=2
KillMode=process
TimeoutStopSec=30
OOMPolicy=continue
UMask=0077
LimitNOFILE=65536

[Install]
WantedBy=default.target
`;
}

/** Writes the user unit of this home and has systemd read it; where it does not answer, says what to run. */
export async function installService(paths: InstancePaths, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const file = unitFileOf(paths, env);
  refuseForeign(file.path);
  const text = unitText({
    command: [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'up', '--serve'],
    home: paths.home,
    path: absoluteFolders(env.PATH),
    notifies: findNotify() !== undefined,
  });
  mkdirSync(dirname(file.path), { recursive: true });
  writeFileSync(`${file.path}.new`, text, { mode: 0o644 });
  renameSync(`${file.path}.new`, file.path);
  const isKnown = await systemctl(env, ['daemon-reload'], ['enable', file.name]);
  const lingers = isKnown && (await isLingering(env));
  const next = [
    ...(isKnown ? [] : ['systemctl --user daemon-reload', `systemctl --user enable ${file.name}`]),
    `systemctl --user start ${file.name}`,
    ...(lingers ? [] : ['loginctl enable-linger']),
    'chantier config set autostart false',
  ];
  const said = [
    `Wrote ${file.path}.${isKnown ? ' It starts with your log-in.' : ' systemd does not answer here.'}`,
    'Left to do ("chantier down" first if a server runs; linger keeps server and agents alive after you log out):',
    ...next.map((line) => `  ${line}`),
  ];
  return { json: { installed: file.path, unit: file.name, enabled: isKnown, lingers, next }, text: said.join('\n') };
}

/** Takes the unit away again; the server and the agents that run go on. */
export async function uninstallService(paths: InstancePaths, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const file = unitFileOf(paths, env);
  if (!existsSync(file.path)) return { json: { removed: null }, text: `There is no ${file.path}.` };
  refuseForeign(file.path);
  await systemctl(env, ['disable', file.name]);
  rmSync(file.path, { force: true });
  await systemctl(env, ['daemon-reload']);
  return {
    json: { removed: file.path },
    text: `Removed ${file.path}. What runs goes on; "chantier down" ends the server.`,
  };
}

/** One unit for each home; that of the usual one has the plain name. */
function unitFileOf(paths: InstancePaths, env: NodeJS.ProcessEnv): { name: string; path: string } {
  const home = env.HOME ?? homedir();
  const isUsual = paths.home === pathsOf(join(home, '.chantier')).home;
  const name = isUsual ? 'chantier.service' : `chantier-${sha256(paths.home).slice(0, 8)}.service`;
  return { name, path: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'systemd/user', name) };
}

function refuseForeign(path: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8').startsWith(mark)) return;
  throw failWith('wrong-state', 'unit_not_ours', `${path} was not written by this command; move it away first.`);
}

/** One word of a unit file: quotes, backslashes, `%`, and in commands `$`, mean something there. */
function quoteWord(word: string, isCommand = false): string {
  if (/[\n\0]/.test(word))
    throw failWith('invalid', 'bad_path', 'A path with a line break cannot stand in a unit file.');
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%');
  return `"${isCommand ? escaped.replaceAll('$', '$$$$') : escaped}"`;
}

function absoluteFolders(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return folders.length > 0 ? folders.join(':') : '/usr/local/bin:/usr/bin:/bin';
}

async function systemctl(env: NodeJS.ProcessEnv, ...calls: string[][]): Promise<boolean> {
  try {
    for (const call of calls) await promisify(execFile)('systemctl', ['--user', ...call], { env, timeout: 15_000 });
    return true;
  } catch {
    return false;
  }
}

async function isLingering(env: NodeJS.ProcessEnv): Promise<boolean> {
  const call = ['show-user', String(process.getuid?.() ?? ''), '--property=Linger', '--value'];
  const answer = await promisify(execFile)('loginctl', call, { env, timeout: 15_000 }).catch(() => ({ stdout: '' }));
  return answer.stdout.trim() === 'yes';
}

/** Where `systemd-notify` lies, if anywhere. */
export function findNotify(): string | undefined {
  return ['/usr/bin/systemd-notify', '/bin/systemd-notify'].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
