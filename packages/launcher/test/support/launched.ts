import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { parseProcessStat } from '../../src/job/posix-process-group.ts';

/** Path of the command `ringrun`. */
export const command = fileURLToPath(new URL('../../../runtime/bin/ringrun.js', import.meta.url));

/** Creates a folder outside the repository, which is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'launcher-test-')));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Writes `source` to a script with this name in a new folder. */
export function temporaryScript(name: string, source: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, source);
  return path;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A running `ringrun` command. */
export interface Launched {
  readonly pid: number;
  /**
   * Resolves with the words after `mark` of the first `count` lines of stdout that begin with it; rejects if the
   * command ends first.
   */
  marked(mark: string, count: number): Promise<string[][]>;
  readonly ended: Promise<Ended>;
  /** Its stdout and stderr so far. */
  output(): string;
}

export function launch(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; /** Its file. */ node?: string; uid?: number } = {},
): Launched {
  const node = options.node ?? process.execPath;
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(node, [command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Test runners set NODE_PATH, with which `require` finds more than in a user's shell.
    env: { ...process.env, NODE_PATH: undefined, ...options.env },
    cwd: options.cwd,
    uid: options.uid,
    gid: options.uid,
  });
  let stdout = '';
  let stderr = '';
  const seen = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    for (const look of seen) look();
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    stdout,
    stderr,
  }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { pid: child.pid!, marked, ended, output: () => stdout + stderr };

  function marked(mark: string, count: number): Promise<string[][]> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const lines = stdout
          .split('\n')
          .slice(0, -1)
          .filter((line) => line.startsWith(`${mark} `));
        if (lines.length < count) return;
        seen.delete(look);
        resolve(lines.slice(0, count).map((line) => line.split(' ').slice(1)));
      };
      seen.add(look);
      look();
      void ended.then((end) => {
        reject(new Error(`ended before ${count} lines "${mark}": ${JSON.stringify(end)}`));
      });
    });
  }
}

/** Whether the process runs. A zombie does not count. */
export function isRunning(pid: number): boolean {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).state !== 'Z';
  } catch {
    return false;
  }
}

/** Resolves with the milliseconds until all processes have ended; rejects with those that still run after `limitMs`. */
export async function untilGone(pids: readonly number[], limitMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const left = pids.filter(isRunning);
    const elapsed = performance.now() - start;
    if (left.length === 0) return elapsed;
    if (elapsed > limitMs) throw new Error(`still running after ${limitMs} ms: ${left.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
