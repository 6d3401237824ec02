/** Private modes that a program switches on: keys, mouse, focus, pastes, colour reports, its drawing in one go. Terminals take 16 at once. */
const setModes = [1, 5, 9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2031];

/**
 * Lines of shell that leave a terminal as a program found it, even one that was killed in the middle of a sequence. What is
 * off already stays off, and the cursor stays where it is: leaving the alternate screen brings back a saved one, so it is
 * saved before; each screen has its own. Both have their own levels of kitty's keyboard, too.
 */
export const restoreTerminal: readonly string[] = [
  'if [ "${TERM:-dumb}" != dumb ]; then',
  `  printf '${[
    '\\033\\\\', // ends a sequence that is open
    '\\033[<99u',
    '\\0337\\033[?1049l',
    '\\033[<99u\\033[>4;0m',
    `\\033[?${setModes.join(';')}l`,
    '\\033[?7;25h',
    '\\033[4l\\033>\\033(B\\017',
    '\\0337\\033[r\\0338', // setting no margins moves the cursor
    '\\033]8;;\\033\\\\\\033[0 q\\033[0m',
  ].join('')}'`,
  'fi',
];
