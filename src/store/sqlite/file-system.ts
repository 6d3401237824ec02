import { readFileSync, realpathSync } from 'node:fs';

import { Fault } from '../../kernel/index.ts';

/** File systems on which locks or shared memory do not hold between processes as SQLite needs them. */
const notLocal =
  /^(nfs4?|cifs|smb3?|smbfs|9p|afs|ceph|lustre|ncpfs|coda|vboxsf|vmhgfs|drvfs|fuse\.(sshfs|s3fs|rclone|gcsfuse|vmhgfs-fuse|glusterfs|davfs2?))$/;

/** Throws `Fault` `not_local_disk` when `folder` lies on a network or shared file system; unknown ones pass. */
export function assertLocalDisk(folder: string, mountInfo: string = readMountInfo()): void {
  const type = fileSystemOf(folder, mountInfo);
  if (type === undefined || !notLocal.test(type)) return;
  throw new Fault(
    'not_local_disk',
    `${folder} lies on ${type}, where SQLite can lose data. Set CHANTIER_HOME to a folder on a local disk, or use PostgreSQL (--database).`,
    { facts: { file_system: type } },
  );
}

/** The type of the file system that `folder` is on, from the text of `/proc/self/mountinfo`. */
export function fileSystemOf(folder: string, mountInfo: string): string | undefined {
  let best: { point: string; type: string } | undefined;
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ');
    const point = unescape(before?.split(' ')[4] ?? '');
    const type = after?.split(' ')[0];
    if (!point || !type) continue;
    const holds = point === '/' || folder === point || folder.startsWith(`${point}/`);
    // Later lines hide earlier ones on the same point.
    if (holds && (!best || point.length >= best.point.length)) best = { point, type };
  }
  return best?.type;
}

/** The kernel writes blanks in paths as octal numbers. */
function unescape(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function readMountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** The folder without symbolic links, so that its mount can be found. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
