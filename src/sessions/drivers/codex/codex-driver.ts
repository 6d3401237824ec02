import { systemClock } from '../../../kernel/index.ts';
import type { Generation } from '../../host/index.ts';
import { ConversationLink } from '../conversation-link.ts';
import type { AgentProfile, AttachOptions, Driver, DriverSink, McpServerSpec, StartArguments } from '../driver.ts';
import { defaultPace } from '../link-pace.ts';
import { replayFiles } from '../replay-files.ts';
import { CodexConversation } from './codex-conversation.ts';
import type { CodexFrame } from './codex-conversation.ts';
import { buildTurnRunner } from './turn-runner.ts';

/**
 * Codex by `codex exec --json`, one process for each turn under a runner that stays. It asks nobody before it acts, so it may
 * run where our sandbox holds and nowhere else; there its own sandbox is off, since nested every command fails. What
 * cannot be had this way: permissions and questions of its own protocol (`ask_human` works), a mode that reads back, pings.
 */
export const codexDriver: Driver = { kind: 'codex', asksNobody: true, attach, commandFor };

/** A day; a human may take long to answer `ask_human`. */
const toolTimeoutSeconds = 86_400;
/** How long a server may take to come up. */
const startupTimeoutSeconds = 60;
const sandboxOff = '--dangerously-bypass-approvals-and-sandbox';

/** The thread is named by each order, so that a command line serves all turns of a generation. */
function commandFor(profile: AgentProfile, { mcpServers }: StartArguments): string[] {
  const words = profile.command.filter((word) => word !== sandboxOff);
  const at = words.indexOf('exec');
  const program = at < 0 ? words : words.slice(0, at);
  const own = at < 0 ? [] : words.slice(at + 1);
  const flags = ['exec', '--json', '--skip-git-repo-check', sandboxOff, ...mcpServers.flatMap(configure), ...own];
  return ['/bin/sh', '-c', buildTurnRunner(program, flags), 'codex-turns'];
}

/** Configuration of one MCP server. Its environment is named and not given: command lines can be read by others. */
function configure({ name, command, args, env }: McpServerSpec): string[] {
  const values = {
    command,
    args: [...args],
    env_vars: Object.keys(env),
    tool_timeout_sec: toolTimeoutSeconds,
    startup_timeout_sec: startupTimeoutSeconds,
    // Without our tools an agent could neither ask nor report; codex would go on without them.
    required: true,
  };
  // JSON of these is valid TOML.
  return Object.entries(values).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.${name}.${key}=${JSON.stringify(value)}`,
  ]);
}

async function attach(
  generation: Generation,
  options: AttachOptions,
  sink: DriverSink,
): Promise<ConversationLink<CodexFrame>> {
  const clock = options.clock ?? systemClock;
  const conversation = new CodexConversation(
    { mode: options.profile.mode, resumeId: options.resume?.conversationId ?? null },
    () => clock.now(),
  );
  const link = new ConversationLink({
    generation,
    conversation,
    reader: await replayFiles(generation, conversation, options.consumedTo ?? 0),
    sink,
    clock,
    pace: { ...defaultPace, ...options.pace },
    stopDefaults: options.profile.stop,
    ...(options.raised ? { raised: options.raised } : {}),
  });
  link.start();
  return link;
}
