export type { Mount, ProfileKind, Sandbox, SandboxLimits, SandboxProfile, WrappedCommand } from './profile.ts';
