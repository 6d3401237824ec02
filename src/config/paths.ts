import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Every path of one instance; nothing else builds them by hand. Source: design sections 4 and 5. */
export interface InstancePaths {
  /** `CHANTIER_HOME`; mode 0700, no sandbox shows it. */
  home: string;
  database: string;
  /** Held exclusively by the one server of this home. */
  lock: string;
  /** Address, pid and boot id of the running server, written by rename. */
  server: string;
  /** The operator CLI's token, mode 0600. */
  operatorToken: string;
  /** The operator CLI's unix socket. */
  socket: string;
  /** `sessions/<id>/<generation>/`: the two append-only files and their companions. */
  sessions: string;
  /** `forge/<repository>.git`: bare repositories of the local forge. */
  forge: string;
  /** Instance keys (HMAC, markers), mode 0600. */
  keys: string;
  logs: string;
  backups: string;
  /** Clones, private homes and caches of sessions; outside `home` so that no sandbox has to show any of it. */
  workRoot: string;
}

/** The paths under `home` (default `CHANTIER_HOME`, else `~/.chantier`). */
export function pathsOf(home: string = process.env.CHANTIER_HOME ?? join(homedir(), '.chantier')): InstancePaths {
  const root = resolve(home);
  return {
    home: root,
    database: join(root, 'chantier.db'),
    lock: join(root, 'lock.db'),
    server: join(root, 'server.json'),
    operatorToken: join(root, 'operator.token'),
    socket: join(root, 'sock'),
    sessions: join(root, 'sessions'),
    forge: join(root, 'forge'),
    keys: join(root, 'keys'),
    logs: join(root, 'logs'),
    backups: join(root, 'backups'),
    workRoot: `${root}-work`,
  };
}
