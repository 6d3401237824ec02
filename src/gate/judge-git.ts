import type { CommandClass } from './judge-command.ts';
import type { Places } from './places.ts';
import { networkGit } from './programs.ts';
import type { ShellWord } from './shell/index.ts';

/** Subcommands that show something and change nothing. */
const showing = new Set(
  `status diff log show rev-parse ls-files ls-tree blame shortlog describe cat-file rev-list merge-base name-rev show-ref for-each-ref
  grep whatchanged cherry range-diff var version help count-objects check-ignore check-attr`.split(/\s+/),
);
/** Subcommands that change the clone and nothing else. */
const local = new Set(
  `add commit checkout switch restore stash branch tag merge rebase cherry-pick revert reset rm mv clean apply am notes`.split(
    /\s+/,
  ),
);
/** Subcommands that set or run programs: a standing yes to them would be a yes to anything. */
const configuring = new Set(
  `config bisect difftool mergetool filter-branch daemon instaweb credential hook`.split(' '),
);
/** Beginnings of long options that write elsewhere or run a program, as git lets them be shortened. */
const dangerousOption = /^--(?:o[pu]|ex(?!clude)|te|up|rec|str|uns|git-d|work-t|confi)/;

/**
 * Judges a git command without a sandbox: local subcommands in the session's own work folder, no `-c`, no push
 * (decision 7). `words` are those after `git`.
 */
export function judgeGit(words: readonly ShellWord[], places: Places): { class: CommandClass; name: string } {
  const at = subcommandPlace(words, places);
  const subcommand = at === undefined ? undefined : words[at];
  const name = subcommand && /^[a-z][a-z-]*$/.test(subcommand.text) ? `git ${subcommand.text}` : 'git';
  if (at === undefined || !subcommand?.isStatic) return { class: 'unmatched', name };
  const rest = words.slice(at + 1);
  if (rest.some((word) => word.isStatic && dangerousOption.test(word.text))) return { class: 'unmatched', name };
  // What the shell fills in could be an option; behind an option of a text (`-m "$(…)"`) or `--` it cannot.
  if (rest.some((word, index) => !word.isStatic && !isText(rest, index))) return { class: 'unmatched', name };
  if (runsProgram(subcommand.text, rest)) return { class: 'unmatched', name };
  if (showing.has(subcommand.text) || isListing(subcommand.text, rest)) return { class: 'read', name };
  if (networkGit.has(subcommand.text)) return { class: 'network', name };
  if (configuring.has(subcommand.text)) return { class: 'unmatched', name };
  if (local.has(subcommand.text)) return { class: places.isInWorkFolder() ? 'git' : 'unmatched', name };
  return { class: 'named', name };
}

/** Where the subcommand stands; `undefined` when an option before it can change what runs. */
function subcommandPlace(words: readonly ShellWord[], places: Places): number | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as ShellWord;
    if (['--no-pager', '-P', '--no-optional-locks', '--literal-pathspecs'].includes(word.text)) continue;
    if (word.text === '-C') {
      const folder = words[at + 1];
      if (!folder?.isStatic || !['inside', 'protected'].includes(places.placeOf(folder.text))) return undefined;
      at += 1;
    } else return word.text.startsWith('-') ? undefined : at;
  }
  return undefined;
}

function isText(rest: readonly ShellWord[], index: number): boolean {
  if (rest.slice(0, index).some((word) => word.text === '--')) return true;
  const before = rest[index - 1];
  return (
    before !== undefined &&
    before.isStatic &&
    /^(?:-[a-zA-Z]*m|--message)$/.test(before.text) &&
    rest[index]?.isQuoted === true
  );
}

function runsProgram(subcommand: string, rest: readonly ShellWord[]): boolean {
  const has = (pattern: RegExp): boolean => rest.some((word) => pattern.test(word.text));
  if (subcommand === 'grep') return has(/^-[a-zA-Z]*O/);
  if (subcommand === 'rebase') return has(/^-[a-zA-Z]*x/) || has(/^-[a-zA-Z]*s/);
  if (subcommand === 'merge' || subcommand === 'cherry-pick' || subcommand === 'revert')
    return has(/^-s./) || has(/^-s$/);
  if (subcommand === 'log' || subcommand === 'diff' || subcommand === 'show') return has(/^--ext/);
  return false;
}

/** Subcommands that only list when they have no further words. */
function isListing(subcommand: string, rest: readonly ShellWord[]): boolean {
  const words = rest.map((word) => word.text);
  if (subcommand === 'branch')
    return words.every((word) => /^(?:-a|-r|-v|-vv|--list|--all|--show-current|--contains)$/.test(word));
  if (subcommand === 'tag') return words.length === 0 || words[0] === '-l' || words[0] === '--list';
  if (subcommand === 'stash') return words[0] === 'list' || words[0] === 'show';
  if (subcommand === 'remote') return words.every((word) => word === '-v') || words[0] === 'get-url';
  if (subcommand === 'config') return ['--get', '--get-all', '--list', '-l', 'get', 'list'].includes(words[0] ?? '');
  if (subcommand === 'reflog') return words.length === 0 || words[0] === 'show';
  if (subcommand === 'worktree') return words[0] === 'list';
  return false;
}
