import { refuse, type Result } from '../kernel/index.ts';
import type { Forge } from './forge.ts';
import { baseTip } from './local/bare-repository.ts';
import { type ConfigAtCommit, readConfigAt } from './read-config.ts';
import { forgePlace, type ForgeRepository } from './repository.ts';

/** The configuration at the tip of the forge's base; look again after each move of the base. Refuses as `readConfigAt`. */
export async function readRepositoryConfig(forge: Forge, repository: ForgeRepository): Promise<Result<ConfigAtCommit>> {
  const tip = await baseTip(forge, repository);
  if (!tip)
    return refuse('wrong-state', 'base_not_imported', `Repository ${repository.id} has no base yet; import it first.`);
  return readConfigAt(forge.git, forgePlace(repository), tip);
}
