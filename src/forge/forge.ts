import { homedir } from 'node:os';
import { join } from 'node:path';

import { type Clock, ok, type Result, systemClock } from '../kernel/index.ts';
import {
  type Checkout,
  findGit,
  type Git,
  openView,
  type PersonSettings,
  readPersonSettings,
  type View,
  type ViewOptions,
} from './git/index.ts';
import { createKeyedTurns, createSlots, type KeyedTurns, type Slots } from './slots.ts';

/** What every function of this domain works with: the git program and the folders of the instance. */
export interface Forge {
  readonly git: Git;
  readonly clock: Clock;
  readonly folders: ForgeFolders;
  /** What the operator's own git configuration says about comparing files. */
  readonly person: PersonSettings;
  /** Shared by set-up and checks. */
  readonly slots: Slots;
  /** Steps on the same work folder or the same operator's checkout take turns. */
  readonly turns: KeyedTurns;
}

/** Absolute folders of one instance. All but `work` lie inside `CHANTIER_HOME`, which no sandbox shows. */
export interface ForgeFolders {
  /** `forge/<repositoryId>.git`. */
  forge: string;
  /** `<sessionId>/{clone,home,cache,tmp}`; outside of home. */
  work: string;
  /** Short-lived server-owned files: views, indexes, wrappers. */
  scratch: string;
  /** Logs of set-up and checks. */
  logs: string;
}

/** The folders under the given paths (as `config` gives them). */
export function forgeFolders(paths: { home: string; forge: string; workRoot: string; logs: string }): ForgeFolders {
  return { forge: paths.forge, work: paths.workRoot, scratch: join(paths.home, 'scratch'), logs: paths.logs };
}

/** Checks the machine's git and opens the domain; `heavyRuns` (default 2) set-ups and checks at once. Refuses `git_missing` and `git_too_old`. */
export async function openForge(options: {
  folders: ForgeFolders;
  gitPath?: string;
  clock?: Clock;
  heavyRuns?: () => number;
  /** True while the machine has no room for a second run. */
  isHeld?: () => boolean;
  /** Home of the person whose checkouts are registered; default the server's user. */
  personHome?: string;
}): Promise<Result<Forge>> {
  const git = await findGit(options.gitPath === undefined ? {} : { path: options.gitPath });
  if (!git.ok) return git;
  return ok({
    git: git.value,
    clock: options.clock ?? systemClock,
    folders: options.folders,
    person: await readPersonSettings(git.value, options.personHome ?? homedir()),
    slots: createSlots(options.heavyRuns ?? (() => 2), options.isHeld),
    turns: createKeyedTurns(),
  });
}

/** A view of an operator's checkout as its own person's git would show it. */
export function viewCheckout(
  forge: Forge,
  checkout: Checkout,
  options: Omit<ViewOptions, 'person'> = {},
): Promise<View> {
  return openView(forge.git, checkout, forge.folders.scratch, { ...options, person: forge.person });
}
