// Loaded before a program under test: it dies, as by kill -9, at its first rename of a folder onto the path of an environment variable.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { rename } = fs.promises;
fs.promises.rename = (from, to) => {
  if (String(to) === process.env.DIES_AT_RENAME_ONTO) process.kill(process.pid, 'SIGKILL');
  return rename(from, to);
};
syncBuiltinESMExports();
