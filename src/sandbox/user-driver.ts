import { readFileSync } from 'node:fs';

import { becomeOwner, type Owner } from './bubblewrap/owner.ts';
import { linksOutside, withLauncher } from './launcher.ts';
import type { Sandbox } from './profile.ts';

/** The account `name` of this machine. */
export function findAccount(name: string): Owner | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/**
 * The barrier by file rights alone (`sandbox: user:<name>`): a root server runs agents as another user, who can read nothing
 * of the server's and signal none of its processes. No namespaces, no filter, and the network is open: what an agent sends
 * is not held back, but without a human's proof or token there is nothing that it can decide.
 */
export function createUserSandbox(setpriv: string, owner: Owner): Sandbox {
  return {
    driver: 'user',
    holds: owner.uid !== 0,
    owner,
    limits: { processes: 'user', memory: 'none' },
    wrap: (profile, command) =>
      Promise.resolve({
        argv: [
          ...becomeOwner(setpriv, owner),
          ...withLauncher({ limits: profile.limits, links: linksOutside(profile) }, command),
        ],
        env: profile.env,
        cwd: profile.cwd,
        openFiles: [],
      }),
  };
}
