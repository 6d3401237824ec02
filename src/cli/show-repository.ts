import type { DetectionView, RepositoryView } from '../wire/index.ts';
import { counted, oneLine } from './show.ts';

const modes = {
  base: 'reviewed changes land on the base branch',
  branch: 'reviewed changes become a branch, with the commands to push it',
  'pull-request': 'reviewed changes become pull requests',
} as const;

/** The one screen: what was found and what would be run. */
export function describeDetection(found: DetectionView): string {
  const { staged, unstaged, untracked } = found.dirty;
  const dirty = new Set([...staged, ...unstaged, ...untracked]).size;
  return [
    found.path,
    `  base      ${oneLine(found.base)} at ${found.baseCommit.slice(0, 12)}${found.remote === null ? ', no remote' : `, remote ${oneLine(found.remote)}`}`,
    `  landing   ${modes[found.mode]}`,
    ...commandLines(found),
    ...found.fromCheckout.map((path) => `  copied    ${oneLine(path)} of your checkout`),
    ...(dirty > 0
      ? [`  your work ${counted(dirty, 'file')} with uncommitted changes stay untouched and are not included`]
      : []),
    ...found.agents.map(
      (agent) =>
        `  agent     ${agent.codename} (${agent.family}): ${oneLine(agent.command.join(' '))} ${oneLine(agent.note)}`,
    ),
    ...found.servers.flatMap(serverLines),
    ...found.reasons.map((reason) => `  because   ${oneLine(reason)}`),
    ...found.warnings.map((warning) => `  WARNING   ${oneLine(warning)}`),
  ].join('\n');
}

/** A server that agents would start, and what its tools would count as. */
function serverLines({ name, source, runs, tools }: DetectionView['servers'][number]): string[] {
  const classes = (['read-only', 'reversible', 'privileged'] as const).flatMap((tier) => {
    const names = tools.filter((tool) => tool.proposed === tier).map((tool) => tool.name);
    return names.length === 0 ? [] : [`${tier}: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}`];
  });
  const known =
    classes.length === 0 ? 'tools not known before it runs; each counts as privileged' : classes.join(' · ');
  const whose = source.startsWith('~') ? ', yours: not in sessions' : '';
  return [`  server    ${oneLine(name)} (${oneLine(source)}${whose}): ${oneLine(runs, 80)}`, `            ${known}`];
}

/** What trusting a repository means: every command that would be run. */
export function describeRepository(repository: RepositoryView): string {
  return [
    `${repository.name} (${repository.path})`,
    `  base      ${oneLine(repository.base)}`,
    `  landing   ${modes[repository.mode]}`,
    ...commandLines(repository),
    `  from      ${repository.configSource}`,
    `  trusted   ${repository.isTrusted ? `yes, by ${repository.trustedBy}` : 'no'}`,
    `  digest    ${repository.configDigest}`,
  ].join('\n');
}

function commandLines({ setup, checks }: Pick<DetectionView, 'setup' | 'checks'>): string[] {
  return [
    ...(setup.length === 0 ? ['  set-up    none'] : setup.map((argv) => `  set-up    ${oneLine(argv.join(' '))}`)),
    ...(checks.length === 0
      ? ['  checks    none']
      : checks.map(
          (check) =>
            `  check     ${oneLine(check.name)}: ${oneLine(check.run.join(' '))}${check.network ? ' (with network)' : ''}`,
        )),
  ];
}
