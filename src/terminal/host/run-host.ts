import { once } from 'node:events';
import { createInterface } from 'node:readline';

import type { IPty } from '@lydell/node-pty';

import { clampSize, type TerminalFrame, type TerminalInput, type TerminalSize } from '../frames.ts';
import type { Screen } from '../screen.ts';

/** How long output is gathered for one frame (ms). */
const gatherMs = 15;
/** Most characters of one frame. */
const maxChunk = 65_536;
/** Journal bytes after which the whole screen is written once more, so that reading can begin near the end. */
const screenEveryBytes = 256 * 1024;
/** A screen of more than this is written without colours. */
const maxScreenBytes = 512 * 1024;
/** Unread output at which the program has to wait, and at which it may go on. */
const pauseAbove = 1024 * 1024;
const resumeBelow = 256 * 1024;

/** What the host works with. */
export interface HostParts {
  screen: Screen;
  start(): IPty;
  input: NodeJS.ReadableStream;
  output: NodeJS.WriteStream;
}

/** Runs one program at a PTY until it has ended and everything it wrote is in the journal. Gives the exit code to end with. */
export async function runHost({ screen, start, input, output }: HostParts): Promise<number> {
  const queue: (string | TerminalSize)[] = [];
  let queued = 0;
  let isPaused = false;
  let sinceScreen = 0;
  let pumping: Promise<void> | undefined;
  let gathering: NodeJS.Timeout | undefined;

  const pty = start();
  const ended = new Promise<{ exitCode: number; signal?: number | undefined }>((resolve) => pty.onExit(resolve));
  write({ pty: 'started', ...screen.size() });

  pty.onData((text) => {
    queue.push(text);
    queued += text.length;
    if (queued > pauseAbove && !isPaused) {
      isPaused = true;
      pty.pause();
    }
    gathering ??= setTimeout(pump, gatherMs);
  });
  // A terminal that is hung up is the end of input for whoever sits at one; then the stop goes on with SIGTERM.
  readInput(input, take).then(
    () => signal('SIGHUP'),
    () => signal('SIGHUP'),
  );
  process.on('SIGTERM', () => signal('SIGTERM'));
  for (const name of ['SIGHUP', 'SIGINT'] as const) process.on(name, () => {});

  const { exitCode, signal: by = 0 } = await ended;
  clearTimeout(gathering);
  while (pumping ?? queue.length > 0) await (pumping ?? pumpAll());
  write({ pty: 'exit', code: exitCode, signal: by });
  await new Promise((resolve) => output.write('', resolve));
  return by > 0 ? 128 + by : exitCode;

  function pump(): void {
    gathering = undefined;
    pumping ??= pumpAll().finally(() => (pumping = undefined));
  }

  /** In order: a frame, its effect on the screen, and now and then the screen, which stands for all frames before it. */
  async function pumpAll(): Promise<void> {
    while (queue.length > 0) {
      const next = takeChunk();
      if (typeof next === 'string') {
        write({ pty: 'out', text: next });
        await screen.write(next);
      } else {
        write({ pty: 'size', ...next });
        screen.resize(next);
      }
      if (output.writableNeedDrain) await once(output, 'drain');
      if (sinceScreen < screenEveryBytes) continue;
      writeScreen();
      sinceScreen = 0;
    }
  }

  function takeChunk(): string | TerminalSize {
    const first = queue.shift() as string | TerminalSize;
    if (typeof first !== 'string') return first;
    let text = first;
    while (typeof queue[0] === 'string' && text.length + queue[0].length <= maxChunk) text += queue.shift() as string;
    queued -= text.length;
    if (isPaused && queued < resumeBelow) {
      isPaused = false;
      pty.resume();
    }
    return text;
  }

  function writeScreen(): void {
    const frame: TerminalFrame = { pty: 'screen', ...screen.size(), text: screen.snapshot() };
    write(JSON.stringify(frame).length > maxScreenBytes ? { ...frame, text: screen.snapshot({ plain: true }) } : frame);
  }

  function write(frame: TerminalFrame): void {
    const line = `${JSON.stringify(frame)}\n`;
    sinceScreen += line.length;
    output.write(line);
  }

  function take(frame: TerminalInput): void {
    if ('text' in frame) pty.write(frame.text);
    else {
      const size = clampSize(frame);
      pty.resize(size.cols, size.rows);
      queue.push(size);
      gathering ??= setTimeout(pump, gatherMs);
    }
    write({ pty: 'input', id: frame.id });
  }

  function signal(name: NodeJS.Signals): void {
    for (const each of [name, 'SIGCONT'] as const) {
      try {
        process.kill(-pty.pid, each);
      } catch {
        // Its group has ended; so will this.
      }
    }
  }
}

/** Hands on each line that is an input; resolves at the end of the stream. A line that is none was torn by a crash. */
async function readInput(input: NodeJS.ReadableStream, take: (frame: TerminalInput) => void): Promise<void> {
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    let frame: TerminalInput;
    try {
      frame = JSON.parse(line) as TerminalInput;
    } catch {
      continue;
    }
    if (typeof frame.id === 'string') take(frame);
  }
}
