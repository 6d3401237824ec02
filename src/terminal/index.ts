/** Programs at a terminal: the process that owns a PTY, what it writes into the journal, and the screen that follows from it. */
export type { TerminalFrame, TerminalInput, TerminalSize } from './frames.ts';
export { clampSize, defaultSize, parseTerminalFrame, screenLinePrefix } from './frames.ts';
export { findPty, ptyHostArguments, ptyMissingCure } from './find-pty.ts';
export type { Screen, ScreenView } from './screen.ts';
export { openScreen } from './screen.ts';
