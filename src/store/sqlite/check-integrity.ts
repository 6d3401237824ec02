import { Worker } from 'node:worker_threads';

const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData, { readOnly: true });
const rows = database.prepare('PRAGMA quick_check(20)').all().map((row) => row.quick_check);
database.close();
parentPort.postMessage(rows);`;

/**
 * Runs SQLite's `quick_check` in a thread of its own; gives what is wrong with the file, nothing when it is sound. Used
 * after an unclean stop, beside the running server (design section 5).
 */
export function checkIntegrity(file: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, { eval: true, workerData: file, env: {}, execArgv: [] });
    worker.unref();
    worker.once('message', (rows: string[]) => resolve(rows.filter((row) => row !== 'ok')));
    worker.once('error', (error) => resolve([error.message]));
    worker.once('exit', (code) => {
      if (code !== 0) reject(new Error(`quick_check ended with code ${code}`));
    });
  });
}
