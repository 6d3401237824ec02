/** Event kinds of `gate`, each with one line for the docs. */
export const gateEvents = {
  'capability.created': 'A tool or operation was seen for the first time in this definition, with tier and status.',
  'capability.status-changed': 'A capability was approved, refused, reinstated or blocked; facts name both states.',
  'capability.tier-changed': 'The tier of a capability was raised, or lowered by a human.',
  'capability.first-run': 'A provisional capability ran for the first time.',
  'capability.superseded': 'A definition changed: the earlier version may no longer run.',
  'call.allowed': 'A call that is not read-only was let through; facts hold the digest of its arguments.',
  'call.refused': 'A call was refused; facts name capability, status and reason.',
  'call.asked': 'A call waits for a single-use yes of a human.',
  'call.approved': 'A human said yes to one call.',
  'call.denied': 'A human said no to one call.',
  'call.spent': 'A single-use yes was spent, before the call went on.',
  'call.voided': 'A waiting or approved call went away: expired, changed, or its session ended.',
  'call.mismatch': 'A call differed from what the human had approved and was refused.',
  'call.ended': 'The outcome of a call that was let through: ok, error, timeout or unknown.',
} as const;
