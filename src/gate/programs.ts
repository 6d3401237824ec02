/** What is known of programs, as data. Names are matched exactly; everything unknown is a command of its own. */

/** Programs that only read, with the arguments (if any) that make them write or run something. */
export const readers: Readonly<Record<string, RegExp | null>> = {
  ls: null,
  cat: null,
  head: null,
  tail: null,
  wc: null,
  grep: null,
  egrep: null,
  fgrep: null,
  rg: /^--(?:pre|hostname-bin)/,
  pwd: null,
  echo: null,
  printf: /^-v/,
  which: null,
  type: null,
  file: /^-[a-zA-Z]*C|^--compile/,
  stat: null,
  du: null,
  df: null,
  sort: /^-[a-zA-Z]*[oT]|^--(?:o|com|te)/,
  cut: null,
  tr: null,
  nl: null,
  tac: null,
  rev: null,
  paste: null,
  comm: null,
  diff: null,
  cmp: null,
  tree: /^-[a-zA-Z]*o|^--output/,
  basename: null,
  dirname: null,
  realpath: null,
  readlink: null,
  true: null,
  false: null,
  ':': null,
  test: null,
  '[': null,
  sleep: null,
  uname: null,
  whoami: null,
  id: null,
  printenv: null,
  ps: null,
  jq: null,
  md5sum: null,
  sha1sum: null,
  sha256sum: null,
  od: null,
  hexdump: null,
  strings: null,
  column: null,
  seq: null,
  cd: null,
  pushd: null,
  popd: null,
  set: null,
  shift: null,
  wait: null,
  exit: null,
  return: null,
  break: null,
  continue: null,
  find: /^-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)$/,
};

/** Programs that change files named by their operands, and nothing else. */
export const pathChangers: ReadonlySet<string> = new Set([
  'mkdir',
  'touch',
  'rm',
  'rmdir',
  'mv',
  'cp',
  'tee',
  'truncate',
]);

/** Run whatever they are given: a standing yes would be a yes to everything. */
export const neverStanding: ReadonlySet<string> = new Set(
  `python python2 python3 node deno bun ruby perl php lua Rscript bash sh dash zsh ksh fish ash busybox awk gawk mawk sed tclsh pwsh
  osascript eval source . trap alias exec builtin enable command xargs parallel sudo su doas chroot setsid kill pkill killall chmod
  chown chgrp ln dd install tar unzip cpio patch rsync find export unset declare typeset local readonly read hash bind shopt env`
    .split(/\s+/)
    .concat([...pathChangers]),
);

/** Shells that take a script as an argument of `-c`. */
export const shells: ReadonlySet<string> = new Set(['bash', 'sh', 'dash', 'zsh', 'ash', 'ksh']);

/** Programs that run the rest of their words: options that take a value of their own, and how many operands come first. */
export const wrappers: Readonly<Record<string, { valued: readonly string[]; operands: number }>> = {
  env: { valued: ['-u', '-C'], operands: 0 },
  nice: { valued: ['-n'], operands: 0 },
  nohup: { valued: [], operands: 0 },
  timeout: { valued: ['-k', '-s'], operands: 1 },
  stdbuf: { valued: ['-i', '-o', '-e'], operands: 0 },
  setsid: { valued: [], operands: 0 },
  ionice: { valued: ['-c', '-n', '-p'], operands: 0 },
  command: { valued: [], operands: 0 },
  builtin: { valued: [], operands: 0 },
  exec: { valued: ['-a'], operands: 0 },
  xargs: { valued: ['-I', '-n', '-P', '-L', '-d', '-a', '-E', '-s'], operands: 0 },
};

/** Words whose first subcommand says little; the next word belongs to the name. */
export const wideSubcommands: ReadonlySet<string> = new Set(
  `npm run,npm run-script,npm exec,pnpm run,pnpm exec,pnpm dlx,yarn run,yarn exec,yarn dlx,bun run,bun x,deno task,cargo run,
  docker compose,uv run,poetry run,pipenv run,bundle exec,go tool,make -C,dotnet tool`
    .split(',')
    .map((name) => name.trim()),
);

/** Programs whose whole purpose lies outside of the machine or above the user. */
const outsidePrograms: ReadonlySet<string> = new Set(
  `ssh scp sftp ftp telnet nc ncat netcat socat mail mailx sendmail gh glab hub aws gcloud az kubectl helm terraform tofu pulumi heroku
  fly flyctl vercel netlify wrangler firebase doctl twine ansible ansible-playbook sudo su doas systemctl crontab systemd-run docker podman`.split(
    /\s+/,
  ),
);

/** Subcommands with an effect outside. */
const outsideSubcommands: Readonly<Record<string, readonly string[]>> = {
  git: ['push', 'send-email', 'send-pack'],
  npm: ['publish', 'unpublish', 'deprecate', 'owner', 'access', 'token', 'dist-tag', 'login', 'adduser'],
  pnpm: ['publish'],
  yarn: ['publish'],
  bun: ['publish'],
  cargo: ['publish', 'yank', 'owner', 'login'],
  gem: ['push', 'yank'],
  poetry: ['publish'],
  uv: ['publish'],
  flit: ['publish'],
  mvn: ['deploy', 'release:perform'],
  gradle: ['publish'],
  nuget: ['push'],
};

/** Programs that speak to the hosts in their words. */
export const networkPrograms: ReadonlySet<string> = new Set(['curl', 'wget', 'http', 'https', 'xh', 'aria2c']);
/** Subcommands of git that speak to a remote. */
export const networkGit: ReadonlySet<string> = new Set([
  'clone',
  'fetch',
  'pull',
  'ls-remote',
  'submodule',
  'remote-https',
]);

/** `git push`, `ssh`, … when `words` (program first, its folder taken away) have an effect outside; else `undefined`. */
export function outsideEffect(words: readonly string[]): string | undefined {
  const [program = '', ...rest] = words;
  if (outsidePrograms.has(program)) return program;
  const subcommands = outsideSubcommands[program];
  if (!subcommands) return undefined;
  const found = rest.find((word) => subcommands.includes(word));
  return found === undefined ? undefined : `${program} ${found}`;
}

const mentioned = new RegExp(
  String.raw`(?:^|[\s;&|("'\`/])(?:(${[...outsidePrograms].join('|')})|(?:${Object.entries(outsideSubcommands)
    .map(([program, subcommands]) => String.raw`${program}\s[^;&|\n]{0,500}\b(?:${subcommands.join('|')})`)
    .join('|')}))(?=$|[\s;&|)"'\`])`,
  'm',
);

/** Whether a text that was not understood names something with an effect outside. */
export function mentionsOutside(text: string): boolean {
  return mentioned.test(text);
}

/** Variables that change how programs are found or run only a little; others make a command unmatched without a sandbox. */
export const harmlessVariables =
  /^(?:CI|NODE_ENV|FORCE_COLOR|NO_COLOR|LANG|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|DEBUG|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|[a-z][a-z0-9_]*)$/;
