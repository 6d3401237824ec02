/* oxlint-disable no-control-regex -- control characters are what this is about */

/** CSI sequences by which the cursor moves: what they part stays parted. */
const moves = /(?:\u001B\[|\u009B)[\d;?]*[A-Ha-fGd]/g;
/** Every other sequence: OSC, DCS, APC, PM and SOS with their text, CSI, charset, single ones. */
const sequences =
  /(?:\u001B\]|\u009D)[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C)?|(?:\u001B[PX^_]|[\u0090\u0098\u009E\u009F])[^\u001B\u009C]*(?:\u001B\\|\u009C)?|(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]?|\u001B[ -/]*[0-~]?/g;

/**
 * The words of terminal output: control sequences out, a blank where one moved the cursor, line feeds and tabs kept. For
 * reading and searching; where things stood on the screen only a real screen knows.
 */
export function stripControls(text: string): string {
  return (
    text
      .replaceAll(moves, ' ')
      .replaceAll(sequences, '')
      // Begun at the first of a run only: a megabyte of carriage returns would else be looked through once for each of them.
      .replaceAll(/(?<!\r)\r+\n/g, '\n')
      .replaceAll(/\r/g, '\n')
      .replaceAll(/[^\P{Cc}\n\t]/gu, '')
  );
}
