// A program that draws a full-screen interface: its size, a spinner's glyph and how many keys came. It shows no key itself.
// `q` ends it with code 7; with the argument `stubborn` it ignores hang-up and SIGTERM.
const stubborn = process.argv[2] === 'stubborn';
let keys = 0;

process.stdin.setRawMode(true);
process.stdin.on('data', (chunk) => {
  for (const char of chunk.toString()) {
    if (char === 'q') {
      process.stdout.write('\u001B[?1049l');
      process.exit(7);
    }
    keys += 1;
  }
  draw();
});
process.stdout.on('resize', draw);
for (const signal of ['SIGHUP', 'SIGTERM']) process.on(signal, () => (stubborn ? draw() : process.exit(0)));
process.stdout.write('\u001B[?1049h\u001B[2J');
draw();

function draw() {
  const { columns, rows } = process.stdout;
  process.stdout.write(
    `\u001B[H\u001B[1;32m✳ Draws\u001B[0m ${columns}x${rows}   \u001B[3;1Hkeys: ${keys}  \u001B[${rows};1Hend é漢字`,
  );
}
