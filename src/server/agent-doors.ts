import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { AgentDoors } from '../app/index.ts';
import { Fault } from '../kernel/index.ts';
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
 */
export function createAgentDoors(runFolder: string): ServedDoors {
  const root = join(runFolder, 'd');
  const sharedFolder = join(runFolder, 'bridge');
  const doors = new Map<string, Door>();
  const sharing = new Set<string>();
  const shared: Door = { folder: sharedFolder, sessions: sharing };
  let listen: ((door: Door, sessionId?: string) => Promise<Listener>) | undefined;

  /** The id without its dashes: two sessions never meet in one name, and the path stays short. */
  const folderOf = (sessionId: string): string => {
    const name = sessionId.replaceAll('-', '');
    const folder = join(root, name);
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

  const open = async (sessionId: string): Promise<string> => {
    await leaveShared(sessionId); // what is launched from here on has a door of its own
    const folder = folderOf(sessionId);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    // Inside the agent may be another user, who finds the socket alone. The run folder lets nobody in from outside.
    await chmod(folder, 0o711);
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
      await rm(folderOf(sessionId), { recursive: true, force: true });
    },
    async restore(sessions) {
      const names = new Set(await readdir(root).catch(() => [] as string[]));
      const kept = new Set<string>();
      for (const { id, isLaunched } of sessions) {
        const folder = folderOf(id);
        const name = folder.slice(root.length + 1);
        kept.add(name);
        if (names.has(name)) await open(id);
        else if (isLaunched) sharing.add(id);
      }
      for (const name of names) if (!kept.has(name)) await rm(join(root, name), { recursive: true, force: true });
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
    },
  };
}
