export { createAgentDoors, type ServedDoors } from './agent-doors.ts';
export { buildApi, unknownCommandText } from './api.ts';
export { describeApi, describeRights } from './describe-api.ts';
export { openApiDocument } from './openapi.ts';
export type { ApiParts, DoorBindings } from './parts.ts';
export type { RunningServer, StartServerOptions } from './start-server.ts';
export { startServer } from './start-server.ts';
