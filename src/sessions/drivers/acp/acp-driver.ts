import { systemClock } from '../../../kernel/index.ts';
import type { AgentProfile, AttachOptions, Driver, DriverSink, StartArguments } from '../driver.ts';
import { ConversationLink } from '../conversation-link.ts';
import { defaultPace } from '../link-pace.ts';
import { replayFiles } from '../replay-files.ts';
import type { Generation } from '../../host/index.ts';
import { AcpConversation } from './acp-conversation.ts';
import type { RpcFrame } from './rpc-frame.ts';

/**
 * Agents that speak ACP, stable protocol version 1, by an ordered core of our own: frames are taken strictly in the order of
 * the file, which the SDK's client does not promise (decision 3).
 */
export const acpDriver: Driver = { kind: 'acp', attach, commandFor };

/** Servers that an agent takes by an argument only are named there without their environment, which it hands on. */
function commandFor({ command, quirks }: AgentProfile, { mcpServers }: StartArguments): string[] {
  if (quirks.mcpArgument === undefined || mcpServers.length === 0) return [...command];
  const servers = mcpServers.map(({ name, command: program, args }) => [
    name,
    { type: 'local', command: program, args, tools: ['*'] },
  ]);
  return [...command, quirks.mcpArgument, JSON.stringify({ mcpServers: Object.fromEntries(servers) })];
}

async function attach(
  generation: Generation,
  options: AttachOptions,
  sink: DriverSink,
): Promise<ConversationLink<RpcFrame>> {
  const clock = options.clock ?? systemClock;
  const conversation = new AcpConversation(
    {
      cwd: options.cwd,
      mcpServers: options.profile.quirks.mcpArgument === undefined ? options.mcpServers : [],
      mode: options.profile.mode,
      resumeId: options.resume?.conversationId ?? null,
      modeEcho: options.profile.quirks.modeEcho ?? null,
      sessionMeta: options.profile.quirks.sessionMeta ?? {},
      authMethod: options.profile.authMethod ?? null,
      logIn: options.profile.logIn ?? null,
    },
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
