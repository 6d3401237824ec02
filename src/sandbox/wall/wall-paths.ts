import { join } from 'node:path';

/** The files of one wall; its folder is private to the server and outside every sandbox. */
export interface WallPaths {
  folder: string;
  /** Who runs: pid, start time, boot id; written by rename once the wall listens. */
  identity: string;
  /** One rules file for each session. */
  rules: string;
  rulesOf(sessionId: string): string;
  /** What was denied, and how often. */
  denials: string;
  log: string;
}

export function wallPaths(folder: string): WallPaths {
  const rules = join(folder, 'rules');
  return {
    folder,
    identity: join(folder, 'wall.json'),
    rules,
    rulesOf: (sessionId) => join(rules, `${sessionId}.json`),
    denials: join(folder, 'denials.json'),
    log: join(folder, 'wall.log'),
  };
}
