import type { Forge } from '../forge.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';
import { gitRecords } from '../git/index.ts';

/** One commit as people read it; author and subject are data. */
export interface ListedCommit {
  id: string;
  author: string;
  subject: string;
}

/** The commits of `to` that `from` does not have, oldest first, the newest `limit` of them (default 50). Both must be in the forge. */
export async function listCommits(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  from: string,
  to: string,
  limit = 50,
): Promise<ListedCommit[]> {
  const args = [
    'log',
    '-z',
    `--max-count=${limit}`,
    '--no-show-signature',
    '--format=%H%n%an%n%s',
    to,
    `^${from}`,
    '--',
  ];
  const records = await gitRecords(forge.git, forgePlace(repository), args);
  return records.toReversed().map((record) => {
    const [id = '', author = '', ...subject] = record.split('\n');
    return { id, author, subject: subject.join(' ') };
  });
}
