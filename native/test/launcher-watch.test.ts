import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { builtFile } from '../../test/support/built-script.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

const script = fileURLToPath(builtFile(new URL('launcher-watch.script.ts', import.meta.url)));
const folders = temporaryFolder();

/** Milliseconds on the clock of leases. */
const now = () => Number(process.hrtime.bigint() / 1_000_000n);

class Worker {
  readonly #process: ChildProcess;
  readonly #stderr: Promise<string>;
  readonly ended: Promise<unknown[]>;

  constructor(folder?: string, stderr: 'pipe' | number = 'pipe') {
    const args = [script, ...(folder === undefined ? [] : [folder])];
    // The leader of a process group, as under the launcher.
    this.#process = spawn(process.execPath, args, {
      detached: true,
      stdio: ['pipe', 'pipe', stderr, 'pipe'],
    });
    this.#stderr = this.#process.stderr ? text(this.#process.stderr) : Promise.resolve('');
    this.ended = once(this.#process, 'close');
    this.#process.stdin!.on('error', () => undefined);
    onTestFinished(() => {
      if (this.#process.exitCode === null && this.#process.signalCode === null) this.signal('SIGKILL');
    });
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(-this.#process.pid!, signal);
  }

  get pipe(): Writable {
    return this.#process.stdio[3] as Writable;
  }

  async isAlive(): Promise<void> {
    const [line] = (await once(this.#process.stdout as Readable, 'data')) as [Buffer];
    expect(String(line)).toBe('alive\n');
  }

  /** Resolves once it has run JavaScript after this call. */
  async answers(): Promise<void> {
    this.#process.stdin!.write('\n');
    await this.isAlive();
  }

  async killed(): Promise<string> {
    expect(await this.ended).toEqual([null, 'SIGKILL']);
    return this.#stderr;
  }
}

function leftFolder(name: string): string {
  const folder = join(folders, name);
  mkdirSync(join(folder, 'below'), { recursive: true });
  writeFileSync(join(folder, 'below/file'), '');
  return folder;
}

/** Waits for a point in time, not for a process. */
const reach = (time: number) => new Promise((resolve) => setTimeout(resolve, time - now() + 1));

describe('a worker', () => {
  test('is killed when its pipe closes, says so, and removes the folder of its launcher', async () => {
    const folder = leftFolder('ended');
    const worker = new Worker(folder);
    await worker.isAlive();
    worker.pipe.end();
    expect(await worker.killed()).toBe('the launcher has ended\n');
    expect(existsSync(folder)).toBe(false);
  });

  test('is killed when its lease ends, and leaves a record with the time', async () => {
    const folder = leftFolder('lease');
    const worker = new Worker(folder);
    await worker.isAlive();
    const end = now() + 100;
    worker.pipe.write(`${end}\n`);
    expect(await worker.killed()).toBe('the lease has expired\n');
    const record = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8')) as Record<string, unknown>;
    expect(record).toEqual({
      message: 'lease',
      time: expect.any(Number) as number,
      hostTime: expect.any(Number) as number,
    });
    expect(record['hostTime']).toBeGreaterThanOrEqual(end);
    expect(Math.abs((record['time'] as number) - Date.now())).toBeLessThan(60_000);
  });

  test('reads the last of several leases, of which the pipe splits one', async () => {
    const worker = new Worker();
    await worker.isAlive();
    const end = now() + 3000;
    const later = String(now() + 1_000_000);
    worker.pipe.write(`${end - 1}\n${end}\n${later.slice(0, 3)}`);
    await worker.answers();
    worker.pipe.write(`${later.slice(3)}\n`);
    await reach(end);
    await worker.answers();
    worker.pipe.end();
    expect(await worker.killed()).toBe('the launcher has ended\n');
  });

  test('that was stopped while its lease was renewed continues', async () => {
    const worker = new Worker();
    await worker.isAlive();
    worker.signal('SIGSTOP');
    const end = now() + 200;
    worker.pipe.write(`${end}\n`);
    worker.pipe.write(`${end + 1_000_000}\n`);
    await reach(end);
    worker.signal('SIGCONT');
    await worker.answers();
    worker.pipe.end();
    expect(await worker.killed()).toBe('the launcher has ended\n');
  });

  test('is killed even if its stderr is full and not read', async () => {
    const fifo = join(folders, 'stderr');
    execFileSync('mkfifo', [fifo]);
    const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    const blocking = openSync(fifo, constants.O_WRONLY);
    onTestFinished(() => {
      closeSync(reader);
      closeSync(blocking);
    });
    const fill = () => {
      for (;;) writeSync(reader, Buffer.alloc(4096));
    };
    expect(fill).toThrow('EAGAIN');
    const worker = new Worker(undefined, blocking);
    await worker.isAlive();
    worker.pipe.end();
    await worker.killed();
  });
});
