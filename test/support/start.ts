import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Command, CommandOptions, Ended } from './command.ts';
import { computesOnGpu, environmentWith, repository } from './environment.ts';
import { Output } from './output.ts';
import { killAll, processesWith } from './processes.ts';

const idVariable = 'TEST_COMMAND_ID';

/** With TEST_DEVICE=cuda, processes may have to compile each of their kernels with g++. */
const defaultLimitMs = computesOnGpu ? 400_000 : 100_000;

/** Starts a program. Its remaining processes are killed when the test ends. */
export function start(program: string, args: readonly string[], options: CommandOptions = {}): Command {
  const command = startUntilKilled(program, args, options);
  onTestFinished(async () => {
    killAll(command.processes());
    await command.ended;
  });
  return command;
}

/** Starts a program that may outlive the test: the caller kills its processes. */
export function startUntilKilled(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Command {
  const { cwd = repository, limitMs = defaultLimitMs } = options;
  const id = randomUUID();
  const env = environmentWith({ ...options.env, [idVariable]: id });
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = new Output(child);
  const processes = () => processesWith(idVariable, id);
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    killAll(processes());
  }, limitMs);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      output.end();
      const left = processes().map(({ pid }) => pid);
      resolve({ code, signal, ...output.texts, timedOut, left });
    });
  });
  return { pid: child.pid!, ended, sees: (pattern) => output.sees(pattern), processes };
}
