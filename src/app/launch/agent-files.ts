import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, sep } from 'node:path';

/**
 * Folders outside the system's that an agent's own program needs inside, read-only: where its program and its script lie, or
 * the `node_modules` that holds them. A folder that would show one of `hidden` is left out.
 */
export function agentFiles(command: readonly string[], hidden: readonly string[]): string[] {
  const folders = command.filter((word) => isAbsolute(word) && existsSync(word)).flatMap(foldersOf);
  const shows = (folder: string): boolean =>
    folder === '/' || hidden.some((path) => path === folder || path.startsWith(`${folder}${sep}`));
  return [...new Set(folders)].filter((folder) => !shows(folder) && !isOfSystem(folder));
}

function foldersOf(path: string): string[] {
  const real = realpathSync(path);
  return [path, real].map((one) => {
    const modules = one.indexOf(`${sep}node_modules${sep}`);
    if (modules >= 0) return one.slice(0, modules + `${sep}node_modules`.length);
    return statSync(one).isDirectory() ? one : dirname(one);
  });
}

/** Shown in every sandbox already. */
function isOfSystem(folder: string): boolean {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc', '/opt'].some(
    (root) => folder === root || folder.startsWith(`${root}/`),
  );
}
