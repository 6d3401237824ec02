export { buildApi, unknownCommandText } from './api.ts';
export type { InstanceHold } from './hold-instance.ts';
export { holdInstance } from './hold-instance.ts';
export { openApiDocument } from './openapi.ts';
export type { ApiParts, DoorBindings } from './parts.ts';
export type { ServerFile } from './server-file.ts';
export { bootId, readServerFile } from './server-file.ts';
export type { RunningServer, StartServerOptions } from './start-server.ts';
export { bridgeFolderOf, startServer } from './start-server.ts';
