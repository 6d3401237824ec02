import { acpDriver } from './acp/acp-driver.ts';
import { commandDriver } from './command/command-driver.ts';
import type { AgentProfile, Driver } from './driver.ts';

/** The driver that speaks to agents of this profile. */
export function driverFor(profile: AgentProfile): Driver {
  return profile.driver === 'acp' ? acpDriver : commandDriver;
}
