/** The session host: the wrapper, the two append-only files and the processes of one generation (design section 7). */
export { runMarker } from './generation-files.ts';
export type { ExitRecord, GenerationFiles, LatchRecord, ProcessRecord } from './generation-files.ts';
export { Generation, launchLimitMs, openGeneration } from './generation.ts';
export type { GenerationState } from './generation.ts';
export { canPunchHoles, JournalFreer } from './free-journal.ts';
export type { ByteRange } from './freed-ranges.ts';
export type { AppendedFrame } from './inbox.ts';
export { findLastLine, findTail } from './journal-tail.ts';
export { JournalReader } from './journal-reader.ts';
export type { JournalLine, ReaderBounds } from './journal-reader.ts';
export { findOwnScope } from './own-scope.ts';
export { bootId, isAlive, readProcess } from './process-identity.ts';
export type { ProcessIdentity } from './process-identity.ts';
export { findRunProcesses } from './run-processes.ts';
export { generationFolder, startGeneration } from './start-generation.ts';
export type { GenerationSpec } from './start-generation.ts';
export { findOffsetSince } from './time-marks.ts';
export type { StopOptions, StopReport } from './stop-generation.ts';
