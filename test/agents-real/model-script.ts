/** One answer of the scripted model. Without `say` and `tool` it is an empty text. */
export interface ModelStep {
  /** Words of the answer. */
  say?: string;
  /** A tool that the request offers: its name, or the end of it (`report_done` of `mcp__chantier__report_done`). */
  tool?: string;
  /** Arguments of the tool; `{cwd}` in a text is the work folder that the agent told its model. */
  input?: Record<string, unknown>;
  /** How long the answer takes (ms). */
  wait?: number;
  /** Answer with this HTTP status instead. */
  status?: number;
  /** Answered by the provider's refusal as long as the server's `limit` is set. */
  isLimited?: boolean;
}

/** How a provider refuses an account that is used up. */
export interface ProviderRefusal {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: unknown;
}

/** What one request says, whatever API it speaks. */
export interface Conversation {
  /** Messages in their order; what tools gave is not among them. */
  turns: readonly { by: 'user' | 'assistant'; text: string }[];
  /** Tools that are offered; `namespace` where the API groups them. */
  tools: readonly { name: string; namespace?: string; isCustom?: boolean }[];
  /** What the newest call of a tool gave, as it stands in the request. */
  heard: string;
}

/** A step with its tool found among those that are offered. */
export interface Answer {
  text: string;
  call?: { name: string; namespace?: string; isCustom: boolean; input: Record<string, unknown> };
}

/** The script as words of a prompt. It is looked for in the newest message that holds one. */
export function scriptText(steps: readonly ModelStep[]): string {
  return `SCRIPT:${JSON.stringify(steps)}:END`;
}

/**
 * The step that a request is to be answered with: the number of the model's own turns after the newest script. So the server
 * keeps nothing, and agents that retry, resume or run side by side need no order. After the last step the model has no more
 * to say; requests without tools (titles, classifiers) get a short answer.
 */
export function stepFor({ turns, tools }: Conversation): ModelStep {
  if (tools.length === 0) return { say: 'A change' };
  let script: ModelStep[] | undefined;
  let done = 0;
  for (const turn of turns) {
    const found = turn.by === 'user' ? newestScript(turn.text) : undefined;
    if (found) [script, done] = [found, 0];
    else if (turn.by === 'assistant') done += 1;
  }
  return script?.[done] ?? { say: 'That is all.' };
}

/** The step as an answer: its tool under the name that the agent offers it, its places filled in from the request `body`. */
export function answerOf(step: ModelStep, { tools }: Conversation, body: string): Answer {
  if (step.tool === undefined) return { text: step.say ?? '' };
  const wanted = step.tool;
  const tool =
    tools.find(({ name }) => name === wanted) ??
    tools.find(({ name }) => /[_-]$/.test(name.slice(0, -wanted.length)) && name.endsWith(wanted));
  if (!tool) return { text: `There is no tool ${wanted} among ${tools.map(({ name }) => name).join(', ')}.` };
  const { name, namespace, isCustom = false } = tool;
  const input = fill(step.input ?? {}, workFolderIn(body)) as Record<string, unknown>;
  return { text: step.say ?? '', call: { name, ...(namespace === undefined ? {} : { namespace }), isCustom, input } };
}

function newestScript(text: string): ModelStep[] | undefined {
  const end = text.lastIndexOf(':END');
  const start = text.lastIndexOf('SCRIPT:[', end);
  return start < 0 || end < 0 ? undefined : (JSON.parse(text.slice(start + 'SCRIPT:'.length, end)) as ModelStep[]);
}

/** An author's folder is `…/<id of its session>/clone`; agents name theirs in the instructions that they send along. */
function workFolderIn(body: string): string {
  return /(?:\/[\w.-]+)*\/[0-9a-f]{8}-[0-9a-f-]{27}\/clone\b/.exec(body)?.[0] ?? '{cwd}';
}

function fill(value: unknown, cwd: string): unknown {
  if (typeof value === 'string') return value.replaceAll('{cwd}', cwd);
  if (Array.isArray(value)) return value.map((one) => fill(one, cwd));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, cwd)]));
}
