/** Event kinds of `forge`, each with one line for the docs. */
export const forgeEvents = {
  'repository.registered':
    'A checkout was registered as a repository, with its base, mode and digest of its configuration.',
  'repository.configured': 'Set-up, checks or policy of a repository changed; the new digest needs trust.',
  'repository.trusted': 'A human trusted the commands, checks, environment names and policy of a repository.',
  'base.move-prepared': 'A commit is about to become the base; written before the compare-and-set.',
  'base.moved': 'The base moved to a new commit, by a landing, a revert or a sync.',
  'base.move-lost': 'A prepared move of the base did not happen because the base had moved first.',
  'work-folder.created': 'A clone for a session or a candidate was recorded.',
  'work-folder.ready': 'The set-up of a work folder ended well.',
  'work-folder.failed': 'The set-up of a work folder failed.',
  'work-folder.saved': 'Uncommitted or unfetched work of a work folder was saved into rescue refs.',
  'work-folder.ports-leased': 'A work folder got port numbers that no other folder of the machine holds.',
  'work-folder.removed': 'A work folder was removed after its work was safe.',
  'checks.finished': 'The checks of a commit ended; counts by status.',
} as const;
