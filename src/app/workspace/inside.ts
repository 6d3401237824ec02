import { Fault, refuse, type Result, ok } from '../../kernel/index.ts';
import type { InSandbox } from '../../forge/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { AppContext } from '../context.ts';

/** The sandbox that everything runs in, or the refusal that says why nothing runs. */
export function requireSandbox(ctx: Pick<AppContext, 'barrier'>): Result<Sandbox> {
  const { sandbox, report } = ctx.barrier;
  if (sandbox) return ok(sandbox);
  const cause = report.cause ?? 'the probe failed';
  const cure = report.cure ?? 'See `chantier doctor`.';
  return refuse(
    'not-permitted',
    'no_sandbox',
    `No agent starts: the sandbox does not hold (${cause}). ${cure} An operator may choose \`sandbox: none\` with proof.`,
  );
}

/** What forge functions need to run git, set-up and checks inside. Throws `Fault` `no_sandbox` when there is none. */
export function insideOf(ctx: Pick<AppContext, 'barrier' | 'carried' | 'config'>): InSandbox {
  const sandbox = requireSandbox(ctx);
  if (!sandbox.ok) throw new Fault('no_sandbox', sandbox.refusal.message);
  const { path, readOnly, env } = ctx.carried;
  const toolchains = path.map((bin) => ({ bin, readOnly }));
  return { sandbox: sandbox.value, toolchains, env, readOnly, nestedRepositories: nestedRepositories(ctx) };
}

/** Repositories that the operator named in `sandbox.nested`. */
export function nestedRepositories(ctx: Pick<AppContext, 'config'>): string[] {
  return ctx.config.get('sandbox.nested').split(',').filter(Boolean);
}
