export type { InstancePaths } from './paths.ts';
export { pathsOf } from './paths.ts';
