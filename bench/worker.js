// A process that prints one line of JSON when it is ready and one for each line of its stdin: the contenders of a benchmark of operators, which
// take turns without starting again.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { root } from './support.js';

export class Worker {
  #child;
  #lines;
  #errors = '';

  constructor(command, args, environment = {}) {
    this.#child = spawn(command, args, { cwd: root, env: { ...process.env, ...environment } });
    this.#child.stderr.on('data', (chunk) => (this.#errors += chunk));
    // A process that cannot be started or has ended: the next read reports it.
    this.#child.on('error', (error) => (this.#errors += error.message));
    this.#child.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Starts a process and waits for its first line, so that its start disturbs no measurement. */
  static async start(...args) {
    const worker = new Worker(...args);
    await worker.ready();
    return worker;
  }

  /** Resolves when the process has written its first line. */
  async ready() {
    await this.#read();
  }

  /** Resolves with the object that the process answers; rejects if it ends first. */
  async ask(line) {
    this.#child.stdin.write(`${line}\n`);
    return this.#read();
  }

  async #read() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.#child.spawnargs.join(' ')} ended: ${this.#errors}`);
    return JSON.parse(value);
  }

  end() {
    this.#child.stdin.end();
  }

  kill() {
    this.#child.kill('SIGKILL');
  }
}

/**
 * Answers questions in a worker's process: one object for each line of stdin. An error is the answer `skipped`.
 *
 * @param answer from the parsed line to the object
 */
export async function answerLines(answer) {
  console.log('{}');
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = await answer(JSON.parse(line)).catch((error) => ({
      skipped: `${error.name}: ${error.message}`,
    }));
    console.log(JSON.stringify(reply));
  }
}

/** Mean milliseconds of processor time of a call of `compute` in about `seconds`, after one more call. */
export async function millisecondsOf(compute, seconds = 0.25) {
  await compute();
  const start = process.cpuUsage();
  let count = 0;
  let used;
  do {
    await compute();
    count += 1;
    const { user, system } = process.cpuUsage(start);
    used = (user + system) / 1000;
  } while (used < 1000 * seconds);
  return used / count;
}
