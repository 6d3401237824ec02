import { findSystemProgram } from '../bubblewrap/find-programs.ts';
import { wallFolderInside } from '../bubblewrap/plan-mounts.ts';
import { quoteForShell } from '../launcher.ts';
import type { SandboxProfile } from '../profile.ts';

/** Where programs inside find the proxy. Nothing else listens inside when a sandbox starts. */
export const proxyPort = 3128;

export interface ForwarderPlan {
  /** Shell text that starts the forwarder and waits until it listens; empty without a network. */
  start: string;
  /** Proxy variables for everything inside. */
  env: Readonly<Record<string, string>>;
  /** Files that the forwarder needs to be seen inside. */
  readOnly: readonly string[];
}

/**
 * How a sandbox reaches the wall: a forwarder from a port of its own loopback to the session's unix socket. `socat`
 * where the machine has it (3 MB), else a small Node program of ours.
 */
export function forwarderPlan(
  profile: Pick<SandboxProfile, 'network'>,
  socat: string | undefined = findSystemProgram('socat'),
): ForwarderPlan {
  if (profile.network.kind !== 'wall') return { start: '', env: {}, readOnly: [] };
  const socket = `${wallFolderInside}/sock`;
  const program = socat
    ? `${socat} TCP-LISTEN:${proxyPort},bind=127.0.0.1,fork,reuseaddr,backlog=128 UNIX-CONNECT:${socket}`
    : `${quoteForShell(process.execPath)} -e ${quoteForShell(ownForwarder)} ${proxyPort} ${socket}`;
  // In a subshell: the command that follows must not find a child it never started.
  const start = `( ${program} </dev/null >/dev/null 2>&1 & )\n${waitUntilListening}`;
  return { start, env: proxyVariables, readOnly: socat ? [] : [process.execPath] };
}

const ownForwarder = `
const net = require('node:net');
const [port, path] = process.argv.slice(1);
net.createServer({ allowHalfOpen: true }, (inner) => {
  const outer = net.connect({ path, allowHalfOpen: true });
  const drop = () => { inner.destroy(); outer.destroy(); };
  inner.on('error', drop); outer.on('error', drop);
  inner.pipe(outer); outer.pipe(inner);
}).listen(Number(port), '127.0.0.1');
`;

/** In the shell's own commands: each program started would take longer than the forwarder does. */
const waitUntilListening = [
  `listening() { while read -r _ own _ state _; do [ "$own $state" = "0100007F:${hexPort()} 0A" ] && return; done </proc/net/tcp; false; }`,
  'tries=0',
  'until listening; do tries=$((tries+1)); [ $tries -gt 400 ] && break; [ $tries -lt 20 ] || sleep 0.005; done',
].join('\n');

function hexPort(): string {
  return proxyPort.toString(16).toUpperCase().padStart(4, '0');
}

const proxyVariables = ((): Record<string, string> => {
  const http = `http://127.0.0.1:${proxyPort}`;
  const own = 'localhost,127.0.0.1,::1';
  const upper: Record<string, string> = {
    HTTP_PROXY: http,
    HTTPS_PROXY: http,
    // Not `socks5h:`, which the wall speaks too: Python's httpx fails on it although the others are set.
    ALL_PROXY: http,
    NO_PROXY: own,
  };
  const lower = Object.fromEntries(Object.entries(upper).map(([name, value]) => [name.toLowerCase(), value]));
  // Node's own fetch looks at the others only when told to.
  return { ...upper, ...lower, NODE_USE_ENV_PROXY: '1' };
})();
