import { Worker } from 'node:worker_threads';

const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const check = () => {
  const database = new DatabaseSync(workerData, { readOnly: true });
  const rows = database.prepare('PRAGMA quick_check(20)').all().map((row) => row.quick_check);
  database.close();
  return rows.filter((row) => row !== 'ok');
};
try {
  parentPort.postMessage(check());
} catch (error) {
  if (![11, 26].includes(error.errcode & 0xff)) throw error;
  parentPort.postMessage([error.message]);
}`;

/**
 * Runs SQLite's `quick_check` in a thread of its own; gives what is wrong with the file, nothing when it is sound. Used
 * after an unclean stop, beside the running server (design section 5). Rejects when the file cannot be read.
 */
export function checkIntegrity(file: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, { eval: true, workerData: file, env: {}, execArgv: [] });
    worker.unref();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error(`quick_check of ${file} gave no answer`)));
  });
}
