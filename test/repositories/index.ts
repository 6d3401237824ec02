export { checkOperatorCheckout, type Deed, deed, landChange, perform } from './checkout-property.ts';
export { folderState } from './folder-state.ts';
export type { ForgeWorld } from './forge-world.ts';
export {
  adoptRepository,
  openAuthorFolder,
  openForgeWorld,
  operator,
  registerIn,
  syncBase,
  turing,
} from './forge-world.ts';
export { commitAll, git, makeRepository, personEnv, writeFiles } from './git.ts';
export {
  makeDirtyRepository,
  makeFailingSetupRepository,
  makeMakeRepository,
  makeNpmRepository,
  makeRemoteRepository,
  makeShallowRepository,
  makeSubmoduleRepository,
} from './plain.ts';
export {
  giveTools,
  makeComposeRepository,
  makeDjangoRepository,
  makeHuskyRepository,
  makeLfsRepository,
  makePnpmRepository,
  makeProtectedRepository,
  makeRustRepository,
  makeSubmoduleUser,
} from './real.ts';
export type { Vector } from './vectors.ts';
export { vectors } from './vectors.ts';
