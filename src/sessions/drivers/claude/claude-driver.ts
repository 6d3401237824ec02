import { realpathSync } from 'node:fs';

import { systemClock } from '../../../kernel/index.ts';
import type { Generation } from '../../host/index.ts';
import { ConversationLink } from '../conversation-link.ts';
import type { AgentProfile, AttachOptions, Driver, DriverSink, StartArguments } from '../driver.ts';
import { defaultPace } from '../link-pace.ts';
import { replayFiles } from '../replay-files.ts';
import { ClaudeConversation } from './claude-conversation.ts';
import type { ControlFrame } from './control-frame.ts';

/**
 * Claude Code without a terminal (`claude -p`) over its own stream-json protocol with control requests: permissions and its
 * questions are asked on stdout and answered on stdin, several turns in one process.
 */
export const claudeDriver: Driver = { kind: 'claude', attach, commandFor };

const streams =
  '--input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio --replay-user-messages'.split(
    ' ',
  );

/**
 * `--permission-prompt-tool stdio` is what makes it ask instead of refuse. The session id is not chosen by us: one that was
 * named and never used could be neither resumed nor used again.
 */
function commandFor(profile: AgentProfile, { resume, ownSandboxOff }: StartArguments): string[] {
  return [
    ...profile.command,
    '-p',
    ...streams,
    ...(profile.mode === null ? [] : ['--permission-mode', profile.mode]),
    ...(profile.command.includes('--settings') ? [] : ownSandboxOff),
    ...(resume === null ? [] : ['--resume', resume]),
  ];
}

async function attach(
  generation: Generation,
  options: AttachOptions,
  sink: DriverSink,
): Promise<ConversationLink<ControlFrame>> {
  const clock = options.clock ?? systemClock;
  const conversation = new ClaudeConversation(
    {
      cwds: placesOf(options.cwd),
      mcpServers: options.mcpServers,
      mode: options.profile.mode,
      resumeId: options.resume?.conversationId ?? null,
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

/** A path and, where it can be seen from here, the same without symbolic links: agents say the latter. */
function placesOf(cwd: string): string[] {
  try {
    return [...new Set([cwd, realpathSync(cwd)])];
  } catch {
    return [cwd];
  }
}
