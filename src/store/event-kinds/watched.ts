/** Event kinds of watched sessions, each with one line for the docs. */
export const watchedEvents = {
  'watched.appeared': 'A session that was started by hand told of itself for the first time.',
  'watched.asked': 'A watched session waits for a permission or an answer.',
  'watched.answered': 'A human answered a watched session through Chantier.',
  'watched.voided': 'What a watched session waited for went away; fact `reason`.',
  'watched.ended': 'A watched session ended, or its process is gone.',
} as const;
