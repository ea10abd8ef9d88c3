import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { formatDuration } from '@ringrun/core';

/** Result of a probe process. */
export type ProbeResult<Answer> =
  | { kind: 'answer'; answer: Answer; stderr: string }
  /** `why` is a clause, such as `it was killed by SIGILL`. */
  | { kind: 'failure'; why: string; stderr: string };

export interface ProbeOptions {
  arguments?: readonly string[];
  timeoutMs: number;
}

/**
 * Runs `probes/<name>`, which prints one JSON value, in a child process: a library that crashes or hangs does not
 * affect the doctor. Never rejects. The child is in the doctor's process group, so that Ctrl-C ends it too.
 */
export function runProbe<Answer>(name: string, options: ProbeOptions): Promise<ProbeResult<Answer>> {
  const entry = fileURLToPath(new URL(`./probes/${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [entry, ...(options.arguments ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      texts[stream] += text;
    });
  }
  return new Promise((resolve) => {
    const fail = (why: string) => {
      resolve({ kind: 'failure', why, stderr: texts.stderr.trim() });
    };
    const timer = setTimeout(() => {
      fail(`it did not end within ${formatDuration(options.timeoutMs)}`);
      child.kill('SIGKILL');
    }, options.timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      fail(`the process could not be started: ${error.message}`);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (signal) fail(`it was killed by ${signal}`);
      else if (code !== 0) fail(`exit code ${String(code)}`);
      else resolve(answerOf<Answer>(texts));
    });
  });
}

/** The answer is the last line: libraries may print other lines before it. */
function answerOf<Answer>({ stdout, stderr }: { stdout: string; stderr: string }): ProbeResult<Answer> {
  try {
    return { kind: 'answer', answer: JSON.parse(lastLine(stdout)) as Answer, stderr: stderr.trim() };
  } catch {
    return { kind: 'failure', why: `it printed '${stdout}' instead of a JSON answer`, stderr: stderr.trim() };
  }
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}

/**
 * The first line with an error's name and message, or else the last line. A stack has source lines before it and calls
 * after it.
 */
export function firstErrorLine(stderr: string): string | undefined {
  const lines = stderr.split('\n').map((line) => line.trim());
  const line = lines.find((one) => /^(\[?\w*Error\b|Error:)/.test(one)) ?? lines.filter(Boolean).at(-1);
  // An error without a stack, as the addon throws it, is printed in brackets.
  return line?.replace(/^\[(\w*Error\b.*)\](?: \{)?$/, '$1');
}
