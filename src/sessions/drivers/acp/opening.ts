import type { Json } from '../../../kernel/index.ts';
import { forLog } from '../../../kernel/index.ts';
import type { McpServerSpec } from '../driver.ts';
import type { DriverEvent, StartFailure } from '../driver-event.ts';
import { isRecord, textOf } from '../read-json.ts';
import { ModeCheck } from './mode-check.ts';
import type { RpcError, RpcFrame } from './rpc-frame.ts';
import { authRequired } from './rpc-frame.ts';

/** What the conversation is opened with. */
export interface OpeningOptions {
  cwd: string;
  mcpServers: readonly McpServerSpec[];
  mode: string | null;
  resumeId: string | null;
  /** Text before the mode's id in a message that confirms it; see `AgentQuirks`. */
  modeEcho: string | null;
  sessionMeta: Record<string, Json>;
  /** Method that takes a stored log-in without asking anybody; null: none is known to. See `AgentProfile`. */
  authMethod?: string | null;
  /** What a human runs to log the agent in. */
  logIn?: string | null;
}

const protocolVersion = 1;
const sessionMethods = ['session/new', 'session/resume', 'session/load'] as const;
type SessionMethod = (typeof sessionMethods)[number];
type Response = Extract<RpcFrame, { kind: 'result' | 'error' }>;

/**
 * The way from a fresh process to an open conversation: initialize → session → permission mode set and read back. Which
 * step comes next follows from the frames alone, so a server that restarts in the middle goes on where the last one was.
 */
export class Opening {
  readonly #options: OpeningOptions;
  readonly #mode: ModeCheck;
  readonly #sent = new Map<string, number>();
  #authMethods: string[] = [];
  /** The agent wanted a log-in, and has one that it can take by itself. */
  #needsAuthentication = false;
  #isAuthenticated = false;
  #capabilities: Record<string, unknown> | undefined;
  #conversationId: string | null = null;
  #hasSession = false;
  #isAnnounced = false;
  #failure: { code: StartFailure; message: string } | undefined;
  #news: DriverEvent[] = [];
  #announcedMode: string | null = null;

  constructor(options: OpeningOptions) {
    this.#options = options;
    this.#mode = new ModeCheck(options.mode);
  }

  get conversationId(): string | null {
    return this.#conversationId;
  }

  get mode(): string | null {
    return this.#mode.current;
  }

  get isOpen(): boolean {
    return this.#isAnnounced && !this.#failure;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether the mode was set and the agent has yet to say that it is. */
  get isReadingBack(): boolean {
    return this.#hasSession && !this.isOpen && !this.#failure && this.#mode.isReadingBack;
  }

  /** Whether the agent is repeating the history of a loaded conversation. */
  get isLoading(): boolean {
    return this.#sent.has('session/load') && !this.#hasSession;
  }

  noteCall(method: string): void {
    this.#sent.set(method, (this.#sent.get(method) ?? 0) + 1);
    if (method === 'session/set_mode' || method === 'session/set_config_option') this.#mode.noteSet();
  }

  /** The request that is due, if any. */
  nextCall(): { method: string; params: Record<string, Json> } | undefined {
    if (this.#failure) return undefined;
    if (!this.#sent.has('initialize')) return { method: 'initialize', params: initializeParams() };
    if (!this.#capabilities) return undefined;
    if (this.#needsAuthentication && !this.#sent.has('authenticate'))
      return { method: 'authenticate', params: { methodId: this.#options.authMethod ?? '' } };
    if (!this.#hasSession) return this.#nextSessionCall();
    const step = this.#mode.next(this.#conversationId ?? '');
    return step.kind === 'set' ? { method: step.method, params: step.params } : undefined;
  }

  readResponse(method: string, response: Response): void {
    if (this.#failure) return;
    if (method === 'initialize') this.#readInitialize(response);
    else if (method === 'authenticate') this.#readAuthenticate(response);
    else if (isSessionMethod(method)) this.#readSession(method, response);
    else if (method === 'session/set_mode' || method === 'session/set_config_option') this.#readModeAnswer(response);
  }

  readUpdate(update: Record<string, unknown>): void {
    const kind = update.sessionUpdate;
    if (kind === 'current_mode_update' || kind === 'config_option_update') this.#mode.read(update);
    if (kind === 'agent_message_chunk' && this.isReadingBack) this.#readModeEcho(update.content);
  }

  /** The mode did not read back in time. */
  giveUpOnMode(): void {
    this.#fail('unsafe_mode', `unsafe mode: "${this.#options.mode}" was set and never read back`);
  }

  /** Events since the last call: the opening's milestones, and mode changes after it. */
  takeNews(): DriverEvent[] {
    this.#judgeMode();
    return this.#news.splice(0);
  }

  #nextSessionCall(): { method: SessionMethod; params: Record<string, Json> } | undefined {
    const tries = sessionMethods.reduce((sum, method) => sum + (this.#sent.get(method) ?? 0), 0);
    if (tries > (this.#isAuthenticated ? 1 : 0)) return undefined;
    const { cwd, resumeId, sessionMeta } = this.#options;
    const mcpServers = this.#options.mcpServers.map(describeServer);
    if (resumeId === null) {
      const meta = Object.keys(sessionMeta).length > 0 ? { _meta: sessionMeta } : {};
      return { method: 'session/new', params: { cwd, mcpServers, ...meta } };
    }
    return { method: this.#resumeMethod(), params: { sessionId: resumeId, cwd, mcpServers } };
  }

  #resumeMethod(): 'session/resume' | 'session/load' {
    const session = this.#capabilities?.sessionCapabilities;
    return isRecord(session) && isRecord(session.resume) ? 'session/resume' : 'session/load';
  }

  #canResume(): boolean {
    return this.#resumeMethod() === 'session/resume' || this.#capabilities?.loadSession === true;
  }

  #readInitialize(response: Response): void {
    if (response.kind === 'error') return this.#failFromError('initialize', response.error);
    if (response.result.protocolVersion !== protocolVersion)
      return this.#fail(
        'protocol',
        `the agent speaks ACP version ${forLog(response.result.protocolVersion)}, we speak 1`,
      );
    this.#capabilities = isRecord(response.result.agentCapabilities) ? response.result.agentCapabilities : {};
    const methods = Array.isArray(response.result.authMethods) ? response.result.authMethods.filter(isRecord) : [];
    this.#authMethods = methods.flatMap(({ id }) => textOf(id) ?? []);
    const info = isRecord(response.result.agentInfo) ? response.result.agentInfo : {};
    const agentName = textOf(info.name);
    const agentVersion = textOf(info.version);
    this.#news.push({
      kind: 'peer-seen',
      ...(agentName === undefined ? {} : { agentName: forLog(agentName) }),
      ...(agentVersion === undefined ? {} : { agentVersion: forLog(agentVersion) }),
    });
    if (this.#options.resumeId !== null && !this.#canResume())
      this.#fail('cannot_resume', 'the agent can neither resume nor load a conversation; start a fresh one');
  }

  /** Its stored log-in was taken: the session is asked for once more. */
  #readAuthenticate(response: Response): void {
    if (response.kind === 'error') return this.#failForLogIn('authenticate', response.error);
    this.#isAuthenticated = true;
  }

  #readSession(method: SessionMethod, response: Response): void {
    if (response.kind === 'error' && response.error.code === authRequired && this.#mayAuthenticate()) {
      this.#needsAuthentication = true;
      return;
    }
    if (response.kind === 'error') return this.#failFromError(method, response.error);
    this.#conversationId =
      method === 'session/new' ? (textOf(response.result.sessionId) ?? null) : this.#options.resumeId;
    if (this.#conversationId === null) return this.#fail('protocol', 'the agent gave its new session no id');
    this.#hasSession = true;
    this.#mode.read(response.result);
  }

  #readModeAnswer(response: Response): void {
    if (response.kind === 'error')
      return this.#fail('unsafe_mode', `unsafe mode: the agent refused "${this.#options.mode}"`);
    this.#mode.read(response.result);
  }

  /** Only between our setting it and the first prompt: later texts are the model's. */
  #readModeEcho(content: unknown): void {
    const { modeEcho } = this.#options;
    const text = isRecord(content) ? textOf(content.text) : undefined;
    if (modeEcho !== null && text?.startsWith(modeEcho))
      this.#mode.read({ currentModeId: text.slice(modeEcho.length) });
  }

  #judgeMode(): void {
    if (!this.#hasSession || this.#failure) return;
    if (this.#isAnnounced) return this.#announceModeChange();
    const step = this.#mode.next(this.#conversationId ?? '');
    if (step.kind === 'unsafe') return this.#fail('unsafe_mode', `unsafe mode: ${forLog(step.reason)}`);
    if (step.kind !== 'safe') return;
    this.#isAnnounced = true;
    this.#announcedMode = this.#mode.current;
    const isResumed = this.#options.resumeId !== null;
    this.#news.push({ kind: 'opened', conversationId: this.#conversationId, mode: this.#mode.current, isResumed });
  }

  #announceModeChange(): void {
    const mode = this.#mode.current;
    if (mode === null || mode === this.#announcedMode) return;
    this.#announcedMode = mode;
    this.#news.push({ kind: 'mode-changed', mode: forLog(mode), isSafe: this.#mode.isSafe });
  }

  #failFromError(method: string, error: RpcError): void {
    const message = `${method} was refused: ${forLog(error.message)} (${error.code})`;
    if (error.code === authRequired) return this.#failForLogIn(method, error);
    if (method === 'initialize') return this.#fail('protocol', message);
    this.#fail(method === 'session/new' ? 'refused' : 'cannot_resume', message);
  }

  /** Once, and only by a method that the profile and the agent both name: any other would open a browser. */
  #mayAuthenticate(): boolean {
    const { authMethod } = this.#options;
    return !this.#needsAuthentication && authMethod != null && this.#authMethods.includes(authMethod);
  }

  #failForLogIn(method: string, error: RpcError): void {
    const cure = this.#options.logIn ?? 'the agent’s own log-in';
    this.#fail('auth_required', `not logged in: run ${cure} (${method}: ${forLog(error.message)}, ${error.code})`);
  }

  #fail(code: StartFailure, message: string): void {
    if (this.#failure) return;
    this.#failure = { code, message };
    this.#news.push({ kind: 'start-failed', code, message });
  }
}

/** No files, no terminal (design section 4); forms, or Claude's questions would never be asked. */
function initializeParams(): Record<string, Json> {
  return {
    protocolVersion,
    clientCapabilities: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      elicitation: { form: {} },
    },
    clientInfo: { name: 'chantier', title: 'Chantier', version: '1' },
  };
}

function describeServer(server: McpServerSpec): Json {
  const env = Object.entries(server.env).map(([name, value]) => ({ name, value }));
  return { name: server.name, command: server.command, args: [...server.args], env };
}

function isSessionMethod(method: string): method is SessionMethod {
  return (sessionMethods as readonly string[]).includes(method);
}
