/** Who a request comes from, by its credential (design 4). `anyone` has none. Agents are told apart by the role of their session. */
export const principalKinds = ['operator', 'operator-cli', 'viewer', 'author', 'reviewer', 'qa', 'anyone'] as const;
export type PrincipalKind = (typeof principalKinds)[number];

/** What a route asks for. */
export interface Right {
  who: readonly PrincipalKind[];
  /**
   * Proof of a human besides the credential. `standing`: console or open terminal is enough. `fresh`: the passphrase for
   * this one act. `by-data`: the use case judges, because it depends on what is decided. The console's cookie alone never changes anything.
   */
  proof?: 'standing' | 'fresh' | 'by-data';
  /** Mutations that hand out or end a credential take no idempotency key, since their answers must not be kept. */
  withoutKey?: true;
}

const everyone = principalKinds;
const humans: readonly PrincipalKind[] = ['operator', 'operator-cli'];
const readers: readonly PrincipalKind[] = ['operator', 'operator-cli', 'viewer'];
const agents: readonly PrincipalKind[] = ['author', 'reviewer', 'qa'];
const author: readonly PrincipalKind[] = ['author'];

const read: Right = { who: readers };
const operate: Right = { who: humans };
/** More budget than the cap in force needs a proof (sessions decision 7). */
const operateByData: Right = { who: humans, proof: 'by-data' };
const decide: Right = { who: humans, proof: 'standing' };
const decideAnew: Right = { who: humans, proof: 'fresh' };
const open: Right = { who: everyone };

/**
 * The one table of rights: every route and who may take it. A route that is not here cannot be registered. There is no route
 * by which an agent decides (G-20). Source: design section 4.
 */
export const rights = {
  'GET /healthz': open,
  'GET /readyz': open,
  'GET /metrics': { who: ['operator', 'operator-cli', 'viewer', 'anyone'] },
  'GET /api/openapi.json': open,

  'GET /api/whoami': { who: [...readers, ...agents] },
  'POST /api/first-run': { who: ['anyone', 'operator-cli'], withoutKey: true },
  'POST /api/first-run-links': { who: ['operator-cli'], withoutKey: true },
  'POST /api/log-ins': { who: ['anyone', 'operator', 'viewer'], withoutKey: true },
  'DELETE /api/log-ins/current': { who: ['operator', 'viewer'], withoutKey: true },
  'POST /api/proofs': { who: humans, withoutKey: true },
  'POST /api/unlocks': { who: ['operator-cli'], withoutKey: true },
  'DELETE /api/unlocks': { who: humans, withoutKey: true },
  'GET /api/users': operate,
  'POST /api/users': { ...decideAnew, withoutKey: true },

  'POST /api/runs': operateByData,
  'GET /api/projects': read,
  'POST /api/projects': operateByData,
  'GET /api/projects/{project}': read,
  'GET /api/jobs': read,
  'POST /api/jobs': operate,
  'POST /api/jobs/{job}/tasks': operateByData,
  'GET /api/jobs/{job}/dependencies': read,
  'GET /api/tasks': read,
  'GET /api/tasks/ready': read,
  'GET /api/tasks/{task}': read,
  'PATCH /api/tasks/{task}': operateByData,
  'PUT /api/tasks/{task}/closure': decide,
  'DELETE /api/tasks/{task}/closure': decide,
  'PUT /api/tasks/{task}/blockers/{blocker}': operate,
  'DELETE /api/tasks/{task}/blockers/{blocker}': operate,
  'GET /api/agents': read,
  'POST /api/agents': decide,

  'GET /api/status': read,
  'GET /api/recap': read,
  'GET /api/escalations': read,
  'GET /api/sessions': read,
  'POST /api/sessions': operate,
  'GET /api/sessions/{session}': read,
  'POST /api/sessions/{session}/answers': decide,
  'POST /api/sessions/{session}/answer-batches': decide,
  'PUT /api/sessions/{session}/pause': operate,
  'DELETE /api/sessions/{session}/pause': operate,
  'PUT /api/sessions/{session}/stop': operate,
  'POST /api/sessions/{session}/messages': operate,
  'GET /api/sessions/{session}/transcript': read,
  'GET /api/sessions/{session}/folder': read,
  'GET /api/search': read,
  'PUT /api/sessions/{session}/takeover': operate,
  'POST /api/sessions/{session}/takeover/terminals': operate,
  'DELETE /api/sessions/{session}/takeover': operate,
  'GET /api/sessions/{session}/terminal': read,
  'PUT /api/sessions/{session}/terminal/keyboard': operate,
  'POST /api/sessions/{session}/terminal/keys': operate,
  'PUT /api/halt': operate,
  'DELETE /api/halt': operate,

  'GET /api/decisions': read,
  'GET /api/decisions/{decision}': read,
  'PUT /api/decisions/{decision}/verdict': decide,

  'GET /api/capabilities': read,
  'GET /api/capabilities/{capability}': read,
  'PUT /api/capabilities/{capability}/decision': decide,

  'GET /api/pull-requests': read,
  'GET /api/pull-requests/{pullRequest}': read,
  'GET /api/pull-requests/{pullRequest}/diff': read,
  'PUT /api/pull-requests/{pullRequest}/human-review': decide,
  'POST /api/pull-requests/{pullRequest}/landings': decide,
  'GET /api/landings': read,
  'GET /api/landings/{landing}': read,
  'POST /api/landings/{landing}/reverts': decide,

  'POST /api/detections': operate,
  'GET /api/repositories': read,
  'POST /api/repositories': operate,
  'GET /api/repositories/{repository}': read,
  'PUT /api/repositories/{repository}/trust': decideAnew,

  'PUT /api/instance/setup': decideAnew,
  'PUT /api/instance/shutdown': operate,
  'GET /api/settings': read,
  'PUT /api/settings/{setting}': { who: humans, proof: 'by-data' },
  'GET /api/notify': operate,
  'PUT /api/notify/telegram': { ...decideAnew, withoutKey: true },
  'DELETE /api/notify/telegram': { ...decide, withoutKey: true },
  'PUT /api/notify/webhook': { ...decideAnew, withoutKey: true },
  'DELETE /api/notify/webhook': { ...decide, withoutKey: true },
  'PUT /api/notify/owners/{telegramId}': { ...decideAnew, withoutKey: true },
  'DELETE /api/notify/owners/{telegramId}': { ...decide, withoutKey: true },
  'POST /api/notify/tests': { ...operate, withoutKey: true },
  'GET /api/doctor': read,
  'GET /api/events': { who: [...readers, ...agents] },
  'GET /api/audit/verification': read,
  'GET /api/audit/export': operate,
  'POST /api/backups': operate,

  'POST /api/watched-hooks': { who: ['operator-cli'] },
  'GET /api/watched-requests/{request}': { who: ['operator-cli'] },
  'DELETE /api/watched-requests/{request}': { who: ['operator-cli'] },

  'PUT /api/agent/status': { who: agents },
  'POST /api/agent/questions': { who: author },
  'GET /api/agent/questions/{question}': { who: author },
  'POST /api/agent/checkpoints': { who: author },
  'PUT /api/agent/completion': { who: agents },
  'PUT /api/agent/review': { who: ['reviewer'] },
  'GET /api/agent/peers': { who: author },
  'POST /api/agent/messages': { who: author },
  'POST /api/agent/inbox': { who: author },
  'PUT /api/agent/summary': { who: author },
  'GET /api/agent/tasks/ready': { who: author },
  'PUT /api/agent/tasks/{task}/claim': { who: author },
  'PATCH /api/agent/tasks/{task}': { who: author },
} as const satisfies Record<string, Right>;

/**
 * What the owner's phone may settle, by kind of decision. A Telegram id on the owner list is an operator with an ordinary
 * proof (design section 4), but nothing is settled there that needs the passphrase anew or a diff that was seen: of the
 * kinds that are not here a message only says where to go.
 */
export const phoneVerdicts: Readonly<Record<string, readonly ('approve' | 'refuse' | 'respond')[]>> = {
  escalation_answer: ['respond'],
  call_approval: ['approve', 'refuse'],
  capability_approval: ['approve', 'refuse'],
  attempts_exhausted: ['approve', 'refuse'],
  dead_letter: ['approve', 'refuse'],
};

/** A route as the table names it: method, blank, path. */
export type RouteName = keyof typeof rights;

/** The right of a route; throws `Error` for one that has no entry, so that it can never be served. */
export function rightOf(route: string): Right {
  if (!Object.hasOwn(rights, route)) throw new Error(`the route ${route} has no entry in the table of rights`);
  return rights[route as RouteName];
}

/** Whether the method changes something. */
export function isMutation(method: string): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method.toUpperCase());
}

/** What stands in the way: nothing, the principal itself, or a missing proof. */
export type RightVerdict = 'granted' | 'not-permitted' | 'proof-required' | 'fresh-proof-required';

/** Judges one request against the table. `proof`: the strongest proof that came with it. */
export function judgeRight(
  route: string,
  principal: PrincipalKind,
  proof: 'none' | 'standing' | 'fresh',
): RightVerdict {
  const right = rightOf(route);
  if (!right.who.includes(principal)) return 'not-permitted';
  if (right.proof === 'fresh' && proof !== 'fresh') return 'fresh-proof-required';
  const cookieAlone = principal === 'operator' && isMutation(route.split(' ')[0] ?? '') && !right.withoutKey;
  if ((right.proof === 'standing' || cookieAlone) && proof === 'none') return 'proof-required';
  return 'granted';
}
