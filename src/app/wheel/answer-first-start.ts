import { readWorkFile } from '../../sandbox/index.ts';
import type { AgentProfile } from '../../sessions/index.ts';
import { firstStartFiles } from '../../sessions/index.ts';

/** A program's own state may have grown; with more than this it is left to ask (bytes; one variable holds 128 KiB at most). */
const maxFileBytes = 100_000;

/** What a command in a sandbox needs, so that its program asks a human nothing that is answered already. */
export interface AnsweredStart {
  /** Before the command. */
  words: string[];
  variables: Record<string, string>;
}

/**
 * Answers what an agent's program would ask at its first start. The files are written inside, by the user inside: outside, a
 * link that an agent left in its home could lead the server astray. Keys travel in the environment and on no command line.
 */
export async function answerFirstStart(
  profile: AgentProfile,
  place: { home: string; folder: string; env: Readonly<Record<string, string>>; holds: boolean },
): Promise<AnsweredStart> {
  const variables: Record<string, string> = {};
  const steps: string[] = [];
  for (const { path, content } of firstStartFiles(profile, place)) {
    const found = await readWorkFile(place.home, path, maxFileBytes);
    // What is not plainly a file of this home is the link to a log-in, or the agent's own doing: it stays.
    if (found.ok ? found.value.isTruncated : found.refusal.kind !== 'not-found') continue;
    const text = content(found.ok ? found.value.bytes.toString('utf8') : undefined);
    if (text === undefined || Buffer.byteLength(text) > maxFileBytes) continue;
    const name = `CHANTIER_FIRST_START_${steps.length}`;
    variables[name] = text;
    steps.push(`put "$HOME/${path}" "$${name}"; unset ${name}`);
  }
  if (steps.length === 0) return { words: [], variables };
  // A link is a log-in of the operator's, made before this runs.
  const put = 'put() { [ -L "$1" ] || { mkdir -p "${1%/*}" && printf %s "$2" >"$1.new" && mv -f "$1.new" "$1"; }; }';
  return { words: ['/bin/sh', '-c', [put, ...steps, 'exec "$@"'].join('\n'), 'sh'], variables };
}
