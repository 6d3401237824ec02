// An author for the bench: says 130 MB in pieces of a size that tool output has, and asks for one permission behind them: once
// that one is known, everything before it has been read.
import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const pieces = Number(process.argv.at(-1));

runScripted(async (turn) => {
  for (let n = 0; n < pieces; n += 1) {
    turn.say('é'.repeat(500_000));
    if (process.stdout.writableNeedDrain) await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  void turn.mayRun('curl https://example.invalid');
  await new Promise(() => {});
});
