import { systemClock } from '../../../kernel/index.ts';
import type { AttachOptions, Driver, DriverSink } from '../driver.ts';
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
export const acpDriver: Driver = { kind: 'acp', attach };

async function attach(
  generation: Generation,
  options: AttachOptions,
  sink: DriverSink,
): Promise<ConversationLink<RpcFrame>> {
  const clock = options.clock ?? systemClock;
  const conversation = new AcpConversation(
    {
      cwd: options.cwd,
      mcpServers: options.mcpServers,
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
