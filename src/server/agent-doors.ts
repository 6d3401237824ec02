import { chmod, chown, mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { AgentDoors } from '../app/index.ts';
import { Fault, sha256 } from '../kernel/index.ts';
import { type Listener, listenOnSocket } from './listen.ts';
import type { Api } from './route.ts';

/** Unix sockets take a path of at most 107 bytes on Linux, 103 on macOS. */
const maxSocketPathBytes = 103;

/** The doors as the server runs them. */
export interface ServedDoors extends AgentDoors {
  /**
   * Listens at each door that is open, and from then on at each that is opened. `onFlood` hears, once a minute, of a session
   * that calls too often; `undefined` is the shared door.
   */
  serve(api: Api, onFlood: (sessionId: string | undefined) => void): Promise<void>;
  /** Stops listening. The folders stay, and with them what sandboxes have bound. Safe twice. */
  stop(): Promise<void>;
}

interface Door {
  folder: string;
  /** Sessions whose door it is: their tokens work here and no others. */
  sessions: ReadonlySet<string>;
  listener?: Promise<Listener> | undefined;
}

/**
 * One door for each session: a folder `d/<id>` in the private run folder, bound into that session's sandbox alone, with the socket
 * `sock` in it. The folder is what is bound, since a bound socket file is dead for good once its server restarts. The
 * shared door `bridge` of older versions is served while agents live that were launched with it, for them alone.
 *
 * Where an agent is another user outside too (`sandbox: user:<name>`) nothing is bound and the run folder lets it not in: its door
 * lies in `/run`, where root alone makes names, in a folder that root owns and the agent's group alone may enter.
 */
export function createAgentDoors(runFolder: string): ServedDoors {
  const root = join(runFolder, 'd');
  const groupRoot = join('/run', `chantier-${sha256(runFolder).slice(0, 12)}`);
  const sharedFolder = join(runFolder, 'bridge');
  const doors = new Map<string, Door>();
  const sharing = new Set<string>();
  const shared: Door = { folder: sharedFolder, sessions: sharing };
  let listen: ((door: Door, sessionId?: string) => Promise<Listener>) | undefined;

  /** The id without its dashes: two sessions never meet in one name, and the path stays short. */
  const folderOf = (sessionId: string, below = root): string => {
    const name = sessionId.replaceAll('-', '');
    const folder = join(below, name);
    if (!/^[A-Za-z0-9]{1,64}$/.test(name)) throw new Error(`"${sessionId}" cannot name a door`);
    if (Buffer.byteLength(join(folder, 'sock')) > maxSocketPathBytes)
      throw new Fault('socket_path_too_long', `${folder}/sock is too long for a unix socket; use a shorter home.`);
    return folder;
  };

  const ensureListening = async (door: Door, sessionId?: string): Promise<void> => {
    if (!listen) return;
    door.listener ??= listen(door, sessionId);
    try {
      await door.listener;
    } catch (error) {
      door.listener = undefined;
      throw error;
    }
  };

  const stopListening = async (door: Door): Promise<void> => {
    const { listener } = door;
    door.listener = undefined;
    await (await listener?.catch(() => undefined))?.stop();
  };

  const leaveShared = async (sessionId: string): Promise<void> => {
    if (!sharing.delete(sessionId) || sharing.size > 0) return;
    await stopListening(shared);
    await rm(sharedFolder, { recursive: true, force: true });
  };

  const open = async (sessionId: string, group?: number): Promise<string> => {
    await leaveShared(sessionId); // what is launched from here on has a door of its own
    const folder = folderOf(sessionId, group === undefined ? root : groupRoot);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    if (group === undefined) {
      // Inside the agent may be another user, who finds the socket alone. The run folder lets nobody in from outside.
      await chmod(folder, 0o711);
    } else {
      await chmod(groupRoot, 0o711);
      // Root's own: who may enter can neither open it further nor put another socket in.
      await chown(folder, 0, group);
      await chmod(folder, 0o710);
    }
    // A door that was opened for another barrier is none any more.
    const former = doors.get(sessionId);
    if (former && former.folder !== folder) {
      doors.delete(sessionId);
      await stopListening(former);
    }
    // Known only now: a server that begins to listen meanwhile finds the folder of each door that it knows.
    let door = doors.get(sessionId);
    if (!door) doors.set(sessionId, (door = { folder, sessions: new Set([sessionId]) }));
    await ensureListening(door, sessionId);
    return folder;
  };

  return {
    open,
    async close(sessionId) {
      await leaveShared(sessionId);
      const door = doors.get(sessionId);
      doors.delete(sessionId);
      if (door) await stopListening(door);
      for (const below of [root, groupRoot]) await rm(folderOf(sessionId, below), { recursive: true, force: true });
    },
    async restore(sessions) {
      const names = new Set(await readdir(root).catch(() => [] as string[]));
      const grouped = new Set(await readdir(groupRoot).catch(() => [] as string[]));
      const kept = new Set<string>();
      for (const { id, isLaunched } of sessions) {
        const folder = folderOf(id);
        const name = folder.slice(root.length + 1);
        kept.add(name);
        if (grouped.has(name)) await open(id, (await stat(join(groupRoot, name))).gid);
        else if (names.has(name)) await open(id);
        else if (isLaunched) sharing.add(id);
      }
      for (const name of names) if (!kept.has(name)) await rm(join(root, name), { recursive: true, force: true });
      for (const name of grouped)
        if (!kept.has(name)) await rm(join(groupRoot, name), { recursive: true, force: true });
      if (sharing.size === 0) await rm(sharedFolder, { recursive: true, force: true });
    },
    async serve(api, onFlood) {
      listen = (door, sessionId) =>
        listenOnSocket(api, { door: 'bridge', sessions: door.sessions }, join(door.folder, 'sock'), 0o666, () =>
          onFlood(sessionId),
        );
      if (sharing.size > 0) {
        await mkdir(sharedFolder, { recursive: true });
        await chmod(sharedFolder, 0o755);
        await ensureListening(shared);
      }
      await Promise.all([...doors].map(([id, door]) => ensureListening(door, id)));
    },
    async stop() {
      listen = undefined;
      await Promise.all([shared, ...doors.values()].map(stopListening));
      // Stays where doors of living agents are in it.
      await rmdir(groupRoot).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
      });
    },
  };
}
