/** Programs that run another one; whose name stands in their words. */
const runners: ReadonlySet<string> = new Set(
  'env node nodejs bun bunx deno npm npx pnpm pnpx yarn tsx sh bash'.split(' '),
);
/** Words of runners before the program. */
const runnerWords: ReadonlySet<string> = new Set(['--', 'dlx', 'exec', 'run', 'x']);
/** Packages and older programs under the name that their program has now. */
const otherNames: Readonly<Record<string, string>> = {
  'claude-code-acp': 'claude-agent-acp',
  'gemini-cli': 'gemini',
  'opencode-ai': 'opencode',
};

/**
 * The name of the program that `command` starts, without folder, version and file ending: `claude-agent-acp` also for
 * `npx -y @scope/claude-agent-acp@1` and for `node …/node_modules/@scope/claude-agent-acp/dist/index.js`. What an agent is
 * called decides in which mode it must be seen before it works, so a detour must not hide it (decision 3).
 */
export function agentNameOf(command: readonly string[]): string {
  const [program = '', ...rest] = command;
  const name = plainName(program);
  if (!runners.has(name)) return otherNames[name] ?? name;
  const run = rest.find((word) => !word.startsWith('-') && !runnerWords.has(word) && !/^\w+=/.test(word));
  if (run === undefined) return name;
  const inside = packageOf(run) ?? plainName(run);
  return otherNames[inside] ?? inside;
}

/** `gemini` of `/x/gemini.js`, `codex-acp` of `@scope/codex-acp@2.6.0`. */
function plainName(word: string): string {
  const last = word.split('/').at(-1) ?? '';
  return last.replace(/(?<=.)@[\w.^~-]*$/, '').replace(/\.(js|mjs|cjs|ts)$/, '');
}

/** The package whose file `path` is; a link in `node_modules/.bin` has its program's own name. */
function packageOf(path: string): string | undefined {
  const name = /.*\/node_modules\/(?:@[^/]+\/)?([^/]+)\//.exec(path)?.[1];
  return name === '.bin' ? undefined : name;
}
