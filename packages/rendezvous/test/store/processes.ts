import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';

/** A child process of a test, and its output so far. */
export interface TestProcess {
  readonly pid: number;
  readonly output: () => { stdout: string; stderr: string };
  /** Resolves with the match when it is in stdout or stderr; rejects when the process ends without it. */
  readonly sees: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/**
 * Variables of the surrounding shell or launcher that would change a child's behaviour. `npm run test:sanitize` sets
 * RINGRUN_NATIVE.
 */
const ownVariables = /^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|RINGRUN_(?!NATIVE$).*)$/;

/** Starts the compiled form of a script with Node. It is killed when the test ends. */
export function start(script: URL, env: Record<string, string | number>, args: string[] = []): TestProcess {
  const inherited = Object.entries(process.env).filter(([key]) => !ownVariables.test(key));
  const given = Object.entries(env).map(([key, value]) => [key, String(value)]);
  const child = spawn(process.execPath, [fileURLToPath(builtFile(script)), ...args], {
    env: Object.fromEntries([...inherited, ...given]) as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  let hasEnded = false;
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text;
      notify();
    });
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => {
      hasEnded = true;
      notify();
      resolve({ code, signal });
    });
  });
  onTestFinished(async () => {
    if (!hasEnded) child.kill('SIGKILL');
    await ended;
  });
  const sees = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
        if (match) resolve(match);
        else if (hasEnded)
          reject(new Error(`ended without ${String(pattern)}:\n${written.stdout}${written.stderr}`));
        else return;
        watchers.delete(look);
      };
      watchers.add(look);
      look();
    });
  return { pid: child.pid!, output: () => written, sees, ended, kill: (signal) => child.kill(signal) };
}
