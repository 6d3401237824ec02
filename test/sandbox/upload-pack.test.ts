import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { giveToOwner, writeUploadPack } from '../../src/sandbox/index.ts';
import { cannotRun, makeSmallWorld } from './small-world.ts';

/** As the server's own git runs: its own folder, no configuration of anybody. */
function serverGit(gitDir: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=server', '-c', 'user.email=server@example.com'];
  const env = { PATH: process.env.PATH, GIT_DIR: gitDir, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', [...identity, ...args], {
    env,
    cwd: '/',
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** A forge, a clone that borrows its objects, one commit in the clone, and every trap that a configuration can hold. */
async function setup() {
  const world = await makeSmallWorld();
  const { base, clone } = world;
  chownSync(clone, process.getuid!(), process.getgid!());
  const forge = join(base, 'forge.git');
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', HOME: base };
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd, env, encoding: 'utf8' });
  git(base, 'init', '-q', '--bare', '-b', 'main', forge);
  const seed = join(base, 'seed');
  git(base, 'clone', '-q', forge, seed);
  writeFileSync(join(seed, 'a.txt'), 'one');
  git(seed, 'add', '.');
  git(seed, 'commit', '-qm', 'one');
  git(seed, 'push', '-q', 'origin', 'HEAD:main');
  git(base, 'clone', '-q', '--shared', '-b', 'main', forge, clone);
  git(clone, 'checkout', '-q', '-b', 'topic');
  writeFileSync(join(clone, 'b.txt'), 'two');
  git(clone, 'add', '.');
  git(clone, 'commit', '-qm', 'two');
  const head = git(clone, 'rev-parse', 'HEAD').trim();
  // In a root server's world the clone and the forge's objects must be readable to the sandbox's user.
  execFileSync('chmod', ['-R', 'a+rX', forge]);
  await giveToOwner(world.sandbox.owner, [clone]);
  chmodSync(base, 0o711);

  const mark = join(base, 'pwned');
  const trap = join(clone, 'trap.sh');
  writeFileSync(trap, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  mkdirSync(join(clone, '.git/hooks'), { recursive: true });
  for (const hook of ['post-checkout', 'reference-transaction', 'pre-auto-gc', 'post-index-change'])
    writeFileSync(join(clone, '.git/hooks', hook), readFileSync(trap), { mode: 0o755 });
  writeFileSync(
    join(clone, '.git/config'),
    `${readFileSync(join(clone, '.git/config'), 'utf8')}
[core]\n fsmonitor = ${trap}\n sshCommand = ${trap}\n pager = ${trap}\n hooksPath = .git/hooks\n alternateRefsCommand = ${trap}
[uploadpack]\n packObjectsHook = ${trap}
[filter "x"]\n clean = ${trap}\n smudge = ${trap}\n`,
  );
  writeFileSync(join(clone, '.gitattributes'), '* filter=x\n');
  return { ...world, forge, head, mark, git };
}

describe.skipIf(cannotRun)(`upload-pack inside${cannotRun}`, () => {
  test('a branch is taken from a clone full of traps, and none of them runs outside (X-8, sandbox attack 13)', async () => {
    const { sandbox, state, clone, forge, head, mark } = await setup();
    const script = await writeUploadPack(sandbox, {
      workFolder: clone,
      readOnly: [join(forge, 'objects')],
      stateFolder: state,
    });
    serverGit(
      forge,
      'fetch',
      '-q',
      '--no-tags',
      `--upload-pack=${script}`,
      clone,
      '+refs/heads/topic:refs/chantier/topic',
    );
    expect(serverGit(forge, 'rev-parse', 'refs/chantier/topic').trim()).toBe(head);
    expect(serverGit(forge, 'show', 'refs/chantier/topic:b.txt')).toBe('two');
    expect(existsSync(mark)).toBe(false);
  });

  test('the traps bite: an ordinary git command in that clone runs them (X-8)', async () => {
    const { clone, git, mark } = await setup();
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'root', clone]);
    git(clone, 'status');
    expect(existsSync(mark)).toBe(true);
  });

  test('an include reads with the rights of inside: another user, nothing hidden (X-8)', async () => {
    const { sandbox, state, clone, forge, base } = await setup();
    writeFileSync(join(base, 'secret'), 'not a configuration: 4711', { mode: 0o644 });
    const config = readFileSync(join(clone, '.git/config'), 'utf8');
    writeFileSync(join(clone, '.git/config'), `${config}[include]\n path = ${join(base, 'secret')}\n`);
    const script = await writeUploadPack(sandbox, {
      workFolder: clone,
      readOnly: [join(forge, 'objects')],
      stateFolder: state,
    });
    // A missing include is no error; a visible one would be, with its text in the message.
    serverGit(forge, 'fetch', '-q', `--upload-pack=${script}`, clone, 'topic');
  });

  test('a clone that is not a repository any more fails the fetch and nothing else (X-8)', async () => {
    const { sandbox, state, clone, forge, mark } = await setup();
    writeFileSync(join(clone, '.git/HEAD'), 'nonsense');
    const script = await writeUploadPack(sandbox, { workFolder: clone, stateFolder: state });
    expect(() => serverGit(forge, 'fetch', '-q', `--upload-pack=${script}`, clone, 'topic')).toThrow();
    expect(existsSync(mark)).toBe(false);
  });
});
