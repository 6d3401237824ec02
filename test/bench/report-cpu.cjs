// Loaded before a program: says at its end what processor time it took, in microseconds, on file descriptor 3.
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').writeSync(3, String(user + system));
});
