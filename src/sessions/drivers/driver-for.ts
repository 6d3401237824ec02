import { acpDriver } from './acp/acp-driver.ts';
import { claudeDriver } from './claude/claude-driver.ts';
import { codexDriver } from './codex/codex-driver.ts';
import { commandDriver } from './command/command-driver.ts';
import type { AgentProfile, Driver } from './driver.ts';

const drivers: Readonly<Record<AgentProfile['driver'], Driver>> = {
  acp: acpDriver,
  claude: claudeDriver,
  codex: codexDriver,
  command: commandDriver,
};

/** The driver that speaks to agents of this profile. */
export function driverFor(profile: Pick<AgentProfile, 'driver'>): Driver {
  return drivers[profile.driver];
}
