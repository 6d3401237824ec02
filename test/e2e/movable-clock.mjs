// Loaded before a server under test: its clocks go as many milliseconds ahead as its parent says, `{ advanceMs }` at a time.
let aheadMs = 0;
const [now, steady] = [Date.now, performance.now.bind(performance)];
Date.now = () => now() + aheadMs;
performance.now = () => steady() + aheadMs;
process.on('message', ({ advanceMs }) => {
  aheadMs += advanceMs;
  process.send({ aheadMs });
});
process.channel?.unref();
