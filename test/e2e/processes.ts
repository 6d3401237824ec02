import { readdirSync, readFileSync } from 'node:fs';

/** Pids below `pid` in the process tree whose command line contains `word`, from `/proc`. */
export function descendants(pid: number, word = ''): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const stat = read(`/proc/${name}/stat`);
    // The name in parentheses may hold anything; the parent stands second after it.
    const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (one: number): boolean => {
    const parent = parents.get(one);
    return parent !== undefined && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter((one) => isBelow(one) && (read(`/proc/${one}/cmdline`) ?? '').includes(word));
}

/** Pids of all processes whose command line names something below `folder`; the caller's own is left out. */
export function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => (read(`/proc/${pid}/cmdline`) ?? '').includes(`${folder}/`));
}

/** Whether a process is there and no zombie. */
export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== undefined && stat[stat.lastIndexOf(')') + 2] !== 'Z';
}

/** Start time of a process in clock ticks since the boot: with the pid it names one process for good. */
export function startOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // it has ended meanwhile
  }
}
