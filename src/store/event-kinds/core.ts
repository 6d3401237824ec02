/** Event kinds of the store itself, each with one line for the docs. */
export const coreEvents = {
  'decision.opened': 'A question to a human was put into the list of decisions.',
  'decision.settled': 'A human settled a decision.',
  'decision.voided': 'A decision went away because its subject ended or changed.',
  'lease.acquired': 'A lease was taken, with its fencing number.',
  'lease.released': 'A lease was given back or taken away.',
  'effect.dead': 'An outside effect failed for good and became a decision.',
  'server.started': 'The server started on this store.',
  'server.stopped': 'The server stopped in order.',
  'command.rejected': 'A command was refused; the reason is its code, never its text (ERR-01 to ERR-09).',
  'access.refused': 'A request reached the server without the right or the proof it needs.',
  'instance.halted': 'A human stopped everything: no dispatch, no landing, no effects.',
  'instance.resumed': 'A human let the instance go on after a halt.',
  'instance.backed-up': 'A backup was written; facts `files`, `bytes`, `head`.',
  'instance.restored':
    'A human put a backup back; facts `head` (where the log of the backup ended), `files`. Log-ins, proofs and open terminals of before are void.',
  'instance.configured': 'A setting of the instance was changed.',
} as const;
