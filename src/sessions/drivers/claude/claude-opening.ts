import type { Json } from '../../../kernel/index.ts';
import { forLog } from '../../../kernel/index.ts';
import type { ConversationOpening } from '../conversation.ts';
import type { McpServerSpec } from '../driver.ts';
import type { DriverEvent, StartFailure } from '../driver-event.ts';
import { isRecord, textOf } from '../read-json.ts';
import type { ControlFrame } from './control-frame.ts';

/** What the conversation is opened with. */
export interface ClaudeOpeningOptions {
  /** Where it is to work, and the same without symbolic links; the agent says where it is at the start of every turn. */
  cwds: readonly string[];
  mcpServers: readonly McpServerSpec[];
  mode: string | null;
  resumeId: string | null;
}

type Response = Extract<ControlFrame, { kind: 'response' }>;

const toolTimeoutMs = 2_147_483_647;
/** Modes that never let more happen unasked than `default` does. */
const askingModes = ['default', 'plan', 'dontAsk'];

/**
 * The way from a fresh process to an open conversation: initialize → our MCP servers → permission mode set and read back.
 * `system/init` comes only with a turn, so the mode is read from the answers before the first prompt, and from `system/init`
 * and `status` ever after. Which step comes next follows from the frames alone.
 */
export class ClaudeOpening implements ConversationOpening {
  readonly #options: ClaudeOpeningOptions;
  readonly #sent = new Set<string>();
  readonly #answered = new Set<string>();
  #conversationId: string | null;
  #mode: string | null = null;
  #announcedMode: string | null = null;
  #isAnnounced = false;
  #failure: StartFailure | undefined;
  #news: DriverEvent[] = [];

  constructor(options: ClaudeOpeningOptions) {
    this.#options = options;
    this.#conversationId = options.resumeId;
  }

  get conversationId(): string | null {
    return this.#conversationId;
  }

  get mode(): string | null {
    return this.#mode;
  }

  get isOpen(): boolean {
    return this.#isAnnounced && !this.#failure;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  get isReadingBack(): boolean {
    return !this.#isAnnounced && !this.#failure && this.#answered.has('set_permission_mode');
  }

  noteCall(subtype: string): void {
    this.#sent.add(subtype);
  }

  /** The request that is due, if any; each waits for the answer of the one before. */
  nextCall(): { subtype: string; members: Record<string, Json> } | undefined {
    if (this.#failure || this.#isAnnounced) return undefined;
    const due = this.#steps().find((step) => !this.#answered.has(step.subtype));
    return due && !this.#sent.has(due.subtype) ? due : undefined;
  }

  readResponse(subtype: string, response: Response): void {
    if (this.#failure || this.#isAnnounced) return;
    this.#answered.add(subtype);
    if (response.error !== undefined) this.#failFromError(subtype, response.error);
    else if (subtype === 'initialize') this.#readInitialize(response.response);
    else if (subtype === 'mcp_set_servers') this.#readServers(response.response);
    else if (subtype === 'set_permission_mode') this.#mode = textOf(response.response.mode) ?? this.#mode;
  }

  /** `system/init` and `system/status`: where and how the agent is. */
  readSystem(message: Record<string, unknown>): void {
    this.#mode = textOf(message.permissionMode) ?? this.#mode;
    if (message.subtype !== 'init') return;
    const cwd = textOf(message.cwd);
    if (cwd !== undefined && !this.#options.cwds.includes(cwd))
      this.#fail('protocol', `the agent works in ${forLog(cwd)} instead of ${this.#options.cwds[0]}`);
  }

  /** The id by which the conversation can be resumed; it exists from the first turn on. */
  readConversationId(id: string | undefined): void {
    if (id === undefined || id === '' || id === this.#conversationId || !this.isOpen) return;
    this.#conversationId = id;
    this.#news.push({ kind: 'conversation', conversationId: id });
  }

  /** The process said why it cannot start, by a result before any prompt. */
  readFailedStart(message: string): void {
    if (this.#isAnnounced) return;
    const isMissing = this.#options.resumeId !== null && /no conversation found/i.test(message);
    this.#fail(isMissing ? 'cannot_resume' : 'refused', `the agent did not start: ${forLog(message)}`);
  }

  giveUpOnMode(): void {
    this.#fail('unsafe_mode', `unsafe mode: "${this.#options.mode}" was set and never read back`);
  }

  takeNews(): DriverEvent[] {
    if (this.#isAnnounced) this.#announceModeChange();
    else if (!this.#failure) this.#announceIfReady();
    return this.#news.splice(0);
  }

  #steps(): { subtype: string; members: Record<string, Json> }[] {
    const { mcpServers, mode } = this.#options;
    return [
      { subtype: 'initialize', members: {} },
      ...(mcpServers.length > 0 ? [{ subtype: 'mcp_set_servers', members: { servers: describe(mcpServers) } }] : []),
      ...(mode === null ? [] : [{ subtype: 'set_permission_mode', members: { mode } }]),
    ];
  }

  #readInitialize(response: Record<string, unknown>): void {
    // Where a mode is wanted only what is said of it afterwards counts.
    if (this.#options.mode === null) this.#mode = textOf(response.current_permission_mode) ?? null;
    const version = textOf(response.claude_code_version);
    this.#news.push({
      kind: 'peer-seen',
      agentName: 'claude-code',
      ...(version === undefined ? {} : { agentVersion: forLog(version) }),
    });
  }

  /** Without our own tools an agent could neither ask nor report. */
  #readServers(response: Record<string, unknown>): void {
    const errors = isRecord(response.errors) ? Object.entries(response.errors) : [];
    const [first] = errors;
    if (first) this.#fail('refused', `the tool server ${forLog(first[0])} did not start: ${forLog(String(first[1]))}`);
  }

  #announceIfReady(): void {
    if (this.#steps().some(({ subtype }) => !this.#answered.has(subtype))) return;
    const wanted = this.#options.mode;
    if (wanted !== null && this.#mode === null) return;
    if (wanted !== null && this.#mode !== wanted)
      return this.#fail('unsafe_mode', `unsafe mode: "${wanted}" was set, the agent says ${forLog(this.#mode)}`);
    this.#isAnnounced = true;
    this.#announcedMode = this.#mode;
    const isResumed = this.#options.resumeId !== null;
    this.#news.push({ kind: 'opened', conversationId: this.#conversationId, mode: this.#mode, isResumed });
  }

  #announceModeChange(): void {
    const mode = this.#mode;
    if (mode === null || mode === this.#announcedMode) return;
    this.#announcedMode = mode;
    const isSafe = this.#options.mode === null || mode === this.#options.mode || askingModes.includes(mode);
    this.#news.push({ kind: 'mode-changed', mode: forLog(mode), isSafe });
  }

  #failFromError(subtype: string, error: string): void {
    if (subtype === 'set_permission_mode')
      return this.#fail('unsafe_mode', `unsafe mode: the agent refused "${this.#options.mode}": ${forLog(error)}`);
    this.#fail(subtype === 'initialize' ? 'protocol' : 'refused', `${subtype} was refused: ${forLog(error)}`);
  }

  #fail(code: StartFailure, message: string): void {
    if (this.#failure) return;
    this.#failure = code;
    this.#news.push({ kind: 'start-failed', code, message });
  }
}

/** Given over stdin, whose file is private, and not as an argument, which every user of the machine can read. */
function describe(servers: readonly McpServerSpec[]): Record<string, Json> {
  return Object.fromEntries(
    servers.map(({ name, command, args, env }) => [
      name,
      { type: 'stdio', command, args: [...args], env: { ...env }, timeout: toolTimeoutMs },
    ]),
  );
}
