import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';

import { giveToOwner, type Owner } from '../../src/sandbox/bubblewrap/owner.ts';

/** What the attacks aim at: an instance with its store, a forge, a second live session, sockets of every kind, a server. */
export interface AttackWorld {
  base: string;
  owner: Owner | undefined;
  clone: string;
  privateHome: string;
  stateFolder: string;
  forge: string;
  bridgeFolder: string;
  secretFile: string;
  /** Environment of the attacks. */
  aims: Record<string, string>;
  /** Files whose content must be the same afterwards. */
  treasures: readonly string[];
  victim: ChildProcess;
  close(): Promise<void>;
}

const secret = 'chantier-secret-4711';

/** Builds the world in a fresh folder. `owner` is the user inside, for a root server. */
export async function makeAttackWorld(owner: Owner | undefined): Promise<AttackWorld> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'chantier-attack-')));
  chmodSync(base, 0o711);
  const folder = (name: string): string => {
    const path = join(base, name);
    mkdirSync(path, { recursive: true, mode: 0o711 });
    return path;
  };
  const file = (name: string): string => {
    const path = join(base, name);
    writeFileSync(path, `${secret}\n`, { mode: 0o600 });
    return path;
  };
  for (const name of ['home', 'home/sessions/s1/1', 'work/s1/clone', 'work/s1/home', 'work/s2/clone']) folder(name);
  for (const name of ['run/bridge1', 'run/bridge2', 'run/user', 'state']) folder(name);
  const treasures = [
    'home/operator.token',
    'home/chantier.db',
    'home/sessions/s1/1/out.ndjson',
    'work/s2/clone/notes.txt',
  ].map(file);
  const forge = folder('home/forge/r.git');
  execFileSync('git', ['init', '-q', '--bare', forge], {
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' },
  });
  await giveToOwner(owner, [join(base, 'work/s1/clone'), join(base, 'work/s1/home'), join(base, 'work/s2/clone')]);

  const servers: { close(): unknown }[] = [];
  const listen = async (where: string | { port: 0; host: string }): Promise<Server> => {
    const server = createServer((socket) => socket.on('error', () => {}).end('hello'));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, resolve);
    });
    servers.push(server);
    return server;
  };
  const portOf = (server: Server): string => String((server.address() as { port: number }).port);
  const sockets = ['run/user/docker.sock', 'run/user/bus', 'run/user/agent.123', 'run/user/tmux'].map((name) =>
    join(base, name),
  );
  for (const path of [...sockets, join(base, 'run/bridge2/sock'), join(base, 'run/bridge1/victim')]) await listen(path);
  // Outside of the list of files: a name that belongs to no folder.
  const abstract = `chantier-abstract-${process.pid}`;
  await listen(`\0${abstract}`);
  const udp = createSocket('udp4');
  udp.on('message', (_message, from) => udp.send('pong', from.port, from.address));
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
  servers.push(udp);
  const own = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal);

  const victimName = `chantier-victim-${process.pid}`;
  const victim = spawn('/bin/sleep', ['120'], {
    argv0: victimName,
    env: { SECRET: secret },
    stdio: 'ignore',
    ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
  });
  const segment = /\d+/.exec(execFileSync('ipcmk', ['-M', '4096', '-p', '0666'], { encoding: 'utf8' }))?.[0] ?? '';
  const aims = {
    A_SEGMENT: segment,
    A_BASE: base,
    A_SECRET: secret,
    A_HOME: join(base, 'home'),
    A_CLONE: join(base, 'work/s1/clone'),
    A_OTHER: join(base, 'work/s2/clone'),
    A_FORGE: forge,
    A_SOCKETS: sockets.join(':'),
    A_OTHER_SOCKET: join(base, 'run/bridge2/sock'),
    A_ABSTRACT: abstract,
    A_TCP: portOf(await listen({ port: 0, host: '127.0.0.1' })),
    A_TCP_ANY: portOf(await listen({ port: 0, host: '0.0.0.0' })),
    A_TCP6: portOf(await listen({ port: 0, host: '::1' })),
    A_UDP: String(udp.address().port),
    A_HOST_ADDRESS: own?.address ?? '127.0.0.2',
    A_HOST_NAME: `${hostname()}.chantier.invalid`,
    A_VICTIM: String(victim.pid),
    A_VICTIM_NAME: victimName,
    A_FILL_MIB: '6',
    A_FORKS: '150',
  };
  return {
    base,
    owner,
    clone: aims.A_CLONE,
    privateHome: join(base, 'work/s1/home'),
    stateFolder: join(base, 'state'),
    forge,
    bridgeFolder: join(base, 'run/bridge1'),
    secretFile: treasures[0]!,
    aims,
    treasures,
    victim,
    async close() {
      victim.kill('SIGKILL');
      execFileSync('ipcrm', ['-m', segment]);
      for (const server of servers) server.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
