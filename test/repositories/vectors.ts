import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { git, writeFiles } from './git.ts';

/** One known way to make git execute something that lies in a repository. */
export interface Vector {
  name: string;
  /** Plants it in a checkout; whatever runs leaves a file `<canary>/<name>`. */
  plant(top: string, canary: string): void;
  /** A plain git command that springs it, to prove that the trap works; left out where springing it needs a network. */
  spring?: (top: string) => void;
}

const hookNames = [
  'applypatch-msg',
  'fsmonitor-watchman',
  'post-applypatch',
  'post-checkout',
  'post-commit',
  'post-index-change',
  'post-merge',
  'post-rewrite',
  'post-update',
  'pre-applypatch',
  'pre-auto-gc',
  'pre-commit',
  'pre-merge-commit',
  'pre-push',
  'pre-rebase',
  'pre-receive',
  'prepare-commit-msg',
  'proc-receive',
  'push-to-checkout',
  'reference-transaction',
  'update',
];

/** Every vector of design section 4 "Git". */
export const vectors: readonly Vector[] = [
  {
    name: 'fsmonitor',
    plant: (top, canary) => void git(top, 'config', 'core.fsmonitor', trap(top, canary, 'fsmonitor')),
    spring: (top) => void git(top, 'status', '--short'),
  },
  {
    name: 'hooks',
    plant(top, canary) {
      const folder = join(gitDirOf(top), 'hooks');
      mkdirSync(folder, { recursive: true });
      for (const name of hookNames) writeExecutable(join(folder, name), `touch '${canary}/hooks'\ncat >/dev/null\n`);
    },
    spring: (top) => void git(top, 'commit', '--quiet', '--allow-empty', '-m', 'springs the hooks'),
  },
  {
    name: 'hooks-path',
    plant(top, canary) {
      const folder = join(gitDirOf(top), 'other-hooks');
      mkdirSync(folder, { recursive: true });
      for (const name of hookNames)
        writeExecutable(join(folder, name), `touch '${canary}/hooks-path'\ncat >/dev/null\n`);
      git(top, 'config', 'core.hooksPath', folder);
    },
    spring: (top) => void git(top, 'commit', '--quiet', '--allow-empty', '-m', 'springs the hooks'),
  },
  {
    name: 'filter',
    plant(top, canary) {
      const program = trap(top, canary, 'filter', 'cat');
      for (const side of ['clean', 'smudge']) git(top, 'config', `filter.evil.${side}`, program);
      attribute(top, '*.txt filter=evil');
    },
    spring: (top) => editAndAdd(top, 'greeting.txt'),
  },
  {
    name: 'filter-process',
    plant(top, canary) {
      git(top, 'config', 'filter.evilprocess.process', trap(top, canary, 'filter-process', 'exit 1'));
      attribute(top, '*.md filter=evilprocess');
    },
    spring: (top) => editAndAdd(top, 'README.md'),
  },
  {
    name: 'textconv',
    plant(top, canary) {
      git(top, 'config', 'diff.evil.textconv', trap(top, canary, 'textconv', 'cat "$1"'));
      attribute(top, '*.txt diff=evil');
    },
    spring: (top) => void git(top, 'log', '-p', '-1'),
  },
  {
    name: 'diff-driver',
    plant(top, canary) {
      git(top, 'config', 'diff.evildriver.command', trap(top, canary, 'diff-driver'));
      attribute(top, '*.md diff=evildriver');
    },
    spring(top) {
      writeFiles(top, { 'README.md': 'driver\n' });
      git(top, 'diff');
      git(top, 'checkout', '--', 'README.md');
    },
  },
  {
    name: 'external-diff',
    plant: (top, canary) => void git(top, 'config', 'diff.external', trap(top, canary, 'external-diff')),
    spring(top) {
      writeFiles(top, { 'greeting.txt': 'hello external\n' });
      git(top, 'diff');
      git(top, 'checkout', '--', 'greeting.txt');
    },
  },
  {
    name: 'merge-driver',
    plant(top, canary) {
      git(top, 'config', 'merge.evil.driver', trap(top, canary, 'merge-driver'));
      attribute(top, '* merge=evil');
    },
  },
  {
    name: 'ssh-command',
    plant(top, canary) {
      git(top, 'config', 'core.sshCommand', trap(top, canary, 'ssh-command', 'exit 1'));
      git(top, 'config', 'url.ssh://example.invalid/.insteadOf', '/');
    },
    spring(top) {
      try {
        git(top, 'ls-remote', '/anything');
      } catch {
        // The trap answers nothing; that it ran is what counts.
      }
    },
  },
  {
    name: 'ext-protocol',
    plant(top, canary) {
      git(top, 'config', 'protocol.ext.allow', 'always');
      git(top, 'config', `url.ext::${trap(top, canary, 'ext-protocol', 'exit 1')} .insteadOf`, '/');
    },
  },
  {
    name: 'pack-objects-hook',
    plant: (top, canary) =>
      void git(top, 'config', 'uploadpack.packObjectsHook', trap(top, canary, 'pack-objects-hook', 'exec "$@"')),
  },
  {
    name: 'alternate-refs-command',
    plant: (top, canary) =>
      void git(top, 'config', 'core.alternateRefsCommand', trap(top, canary, 'alternate-refs-command')),
  },
  {
    name: 'programs',
    plant(top, canary) {
      const program = trap(top, canary, 'programs');
      for (const key of [
        'core.editor',
        'core.pager',
        'core.askPass',
        'gpg.program',
        'sequence.editor',
        'credential.helper',
        'core.gitProxy',
      ])
        git(top, 'config', key, program);
      git(top, 'config', 'commit.gpgSign', 'true');
    },
    spring(top) {
      try {
        git(top, 'commit', '--quiet', '--allow-empty', '-m', 'springs the signing program');
      } catch {
        // The trap signs nothing.
      }
    },
  },
  {
    name: 'include',
    plant(top, canary) {
      const file = join(gitDirOf(top), 'included');
      writeFileSync(file, `[core]\n\tfsmonitor = ${trap(top, canary, 'include')}\n`);
      git(top, 'config', 'include.path', file);
    },
    spring: (top) => void git(top, 'status', '--short'),
  },
  {
    name: 'promisor',
    plant(top, canary) {
      git(top, 'config', 'remote.lazy.url', top);
      git(top, 'config', 'remote.lazy.uploadpack', trap(top, canary, 'promisor'));
    },
  },
];

/** Gives files a git attribute by the repository's own attributes file. */
function attribute(top: string, line: string): void {
  mkdirSync(join(gitDirOf(top), 'info'), { recursive: true });
  appendFileSync(join(gitDirOf(top), 'info', 'attributes'), `${line}\n`);
}

function editAndAdd(top: string, path: string): void {
  writeFiles(top, { [path]: 'edited\n' });
  try {
    git(top, 'add', path);
  } catch {
    // A filter that fails is one that ran.
  }
}

function trap(top: string, canary: string, name: string, then = 'exit 0'): string {
  const path = join(gitDirOf(top), `trap-${name}`);
  writeExecutable(path, `touch '${canary}/${name}'\n${then}\n`);
  return path;
}

function writeExecutable(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}`);
  chmodSync(path, 0o755);
}

function gitDirOf(top: string): string {
  return join(top, '.git');
}
