import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Runs plain git in a fixture, as a person would, but free of this machine's own configuration. */
export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    env: personEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

/** Environment of the person in front of a fixture. */
export const personEnv: Record<string, string> = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Person',
  GIT_AUTHOR_EMAIL: 'person@example.org',
  GIT_COMMITTER_NAME: 'Person',
  GIT_COMMITTER_EMAIL: 'person@example.org',
};

/** Writes files below `folder`; makes the folders they need. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** Commits everything in `folder` and gives the commit's id. */
export function commitAll(folder: string, message: string): string {
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', message);
  return git(folder, 'rev-parse', 'HEAD');
}

/** Makes `folder` a repository with `files` as its first commit on `main`. */
export function makeRepository(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '--quiet', '--initial-branch=main');
  writeFiles(folder, files);
  commitAll(folder, 'first');
  return folder;
}
