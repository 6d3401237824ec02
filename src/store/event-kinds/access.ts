/** Event kinds of `access`, each with one line for the docs. */
export const accessEvents = {
  'user.created': 'An operator or viewer was added.',
  'access.logged-in': 'A human logged in at the console.',
  'access.logged-out': 'A log-in of the console ended.',
  'access.log-in-failed': 'A passphrase was wrong.',
  'access.proof-given': 'A human gave the passphrase and got a proof for one decision.',
  'access.proof-spent': 'A one-use proof was spent on one request.',
  'access.unlocked': 'A terminal was opened for decisions, for 8 h at most.',
  'access.locked': 'An open terminal was closed again.',
  'access.first-run-opened': 'A one-use link for setting the first passphrase was made.',
} as const;
