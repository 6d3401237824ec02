import { codenamePattern } from '../kernel/index.ts';

/** The work key of a task: `<project>/<task codename>`; unique among living author sessions (design section 7). */
export function workKey(project: { codename: string }, task: { codename: string }): string {
  return `${project.codename}/${task.codename}`;
}

/**
 * A codename made of the words of `title`, with `suffix` (4 to 12 of `[a-z0-9]`) to keep it apart from others: what `run`
 * uses. Falls back to `work` when the title has no latin letters or digits. Always matches L-33a.
 */
export function proposeCodename(title: string, suffix: string): string {
  const words = title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word.length > 0);
  let name = '';
  for (const word of words) {
    const longer = name ? `${name}-${word}` : word.slice(0, 40);
    if (longer.length > 40) break;
    name = longer;
  }
  const codename = `${name || 'work'}-${suffix}`;
  if (!codenamePattern.test(codename)) throw new Error(`the suffix of a codename must be of [a-z0-9], not ${suffix}`);
  return codename;
}
