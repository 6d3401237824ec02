import { type Json, ok, refuse, type Result } from '../../kernel/index.ts';
import { answerUserQuestion, askTool, readUserQuestion } from '../drivers/claude/user-question.ts';
import { isRecord, textOf } from '../drivers/read-json.ts';
import { answerContent } from '../supervisor/answer-content.ts';

/** Agents whose own sessions can be watched; each has hooks of its own form. Source: design section 7. */
export const watchedAgents = ['claude', 'codex', 'gemini'] as const;
export type WatchedAgent = (typeof watchedAgents)[number];

/** What a hook tells, whatever agent it comes from. */
export interface HookReport {
  nativeId: string;
  cwd: string;
  /** `asks`: a human may answer through us. `notice`: the agent waits, and only its own terminal can answer it. */
  event: 'started' | 'prompted' | 'tool-ended' | 'asks' | 'notice' | 'idle' | 'ended';
  /** Of `tool-ended`, `asks` and `notice`. */
  tool?: string;
  input?: Json;
}

/** What a human said to a request. */
export type WatchedAnswer = { allow: true; text?: string } | { allow: false; reason?: string };

interface Dialect {
  events: Readonly<Record<string, HookReport['event']>>;
  /** The hook's output that carries the answer; `undefined` where no answer is taken. */
  answer?(input: Json | undefined, answer: WatchedAnswer): Json;
  /** How long a hook may keep the agent's own dialog away, in ms; `null`: the dialog shows beside it, so without end. */
  holdMs: number | null;
}

const claudeEvents = {
  SessionStart: 'started',
  UserPromptSubmit: 'prompted',
  PermissionRequest: 'asks',
  PostToolUse: 'tool-ended',
  PostToolUseFailure: 'tool-ended',
  Stop: 'idle',
  SessionEnd: 'ended',
} as const;

/** Each agent's hooks as data: their events, and the form of an answer. Seen with Claude Code 2.1, Codex 0.166, Gemini CLI 0.61. */
export const hookDialects: Readonly<Record<WatchedAgent, Dialect>> = {
  claude: { events: claudeEvents, answer: permissionAnswer, holdMs: null },
  // Its dialog comes only after the hook has ended without an answer.
  codex: { events: claudeEvents, answer: permissionAnswer, holdMs: 120_000 },
  gemini: {
    events: {
      SessionStart: 'started',
      BeforeAgent: 'prompted',
      AfterTool: 'tool-ended',
      Notification: 'notice',
      AfterAgent: 'idle',
      SessionEnd: 'ended',
    },
    holdMs: 0,
  },
};

/** Reads what a hook of `agent` was given. Refuses `invalid` what has no session or an event that is not ours. */
export function readHook(agent: WatchedAgent, input: Json): Result<HookReport> {
  const given = isRecord(input) ? input : {};
  const nativeId = textOf(given.session_id);
  const event = hookDialects[agent].events[textOf(given.hook_event_name) ?? ''];
  if (nativeId === undefined || !/^[\w.:-]{1,128}$/.test(nativeId) || event === undefined)
    return refuse('invalid', 'unknown_hook', `This is no hook of ${agent} that Chantier reads; see "chantier watch".`);
  const cwd = (textOf(given.cwd) ?? '').slice(0, 4096);
  const tool = (textOf(given.tool_name) ?? textOf(given.notification_type) ?? '').slice(0, 200);
  const content = agent === 'gemini' && event === 'notice' ? { message: given.message ?? '' } : given.tool_input;
  return ok({
    nativeId,
    cwd,
    event,
    ...(tool === '' ? {} : { tool }),
    ...(content === undefined ? {} : { input: content }),
  });
}

/** Whether the request is a question with words as its answer, not a yes or no. */
export function isQuestion(tool: string | undefined): boolean {
  return tool === askTool;
}

/** The words of a question, as a human reads them. */
export function questionText(input: Json | undefined): string {
  return readUserQuestion('', { input: input ?? {} }).text;
}

function permissionAnswer(input: Json | undefined, answer: WatchedAnswer): Json {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: decisionOf(input, answer) } };
}

function decisionOf(input: Json | undefined, answer: WatchedAnswer): Json {
  if (!answer.allow) return { behavior: 'deny', message: answer.reason ?? 'A human refused this.' };
  if (answer.text === undefined) return { behavior: 'allow' };
  const request = { input: input ?? {} };
  return answerUserQuestion(request, answerContent(readUserQuestion('', request).schema, answer.text));
}
