import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Location of a syntax error, `/job/train.ts:2:9: ERROR: Unexpected "="` or `file:///job/train.mjs:2:11`, and its
 * source line.
 */
export type SourceLocation = readonly [location: string, line: string];

const checkTimeoutMs = 5000;

/** Location of a syntax error thrown by Node, or by esbuild, with which tsx transforms TypeScript. */
export function sourceLocationOf(error: unknown, script = process.argv[1]): SourceLocation | undefined {
  if (!(error instanceof Error)) return undefined;
  const transformed = locationOfTransform(error);
  if (transformed) return transformed;
  if (error.name !== 'SyntaxError') return undefined;
  return (
    locationInStack(error.stack ?? '') ??
    (isOfModule(error) ? locationByCheck(script, error.message) : undefined)
  );
}

/**
 * The second line of esbuild's message. tsx's loader runs in another thread, so only message and stack are available.
 */
function locationOfTransform({ message }: Error): SourceLocation | undefined {
  const [headline, location = ''] = message.split('\n');
  const found = /^(.+):(\d+):\d+: ERROR: /.exec(location);
  if (!headline.startsWith('Transform failed with ') || !found) return undefined;
  return [location, lineOf(found[1], Number(found[2]))];
}

function lineOf(file: string, number: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[number - 1]?.trim() ?? '';
  } catch {
    return '';
  }
}

/** For most syntax errors, Node prepends `file:///job/train.mjs:2`, the line and a line of `^` to the stack. */
function locationInStack(stack: string): SourceLocation | undefined {
  const [location, line = '', mark = ''] = stack.split('\n');
  if (!/^\S.*:\d+$/.test(location) || !/^\s*\^+\s*$/.test(mark)) return undefined;
  return [`${location}:${mark.indexOf('^') + 1}`, line.trim()];
}

/**
 * True if Node's loader threw the error. Errors thrown by the program, such as those of JSON.parse, have another first
 * frame.
 */
function isOfModule({ stack = '' }: Error): boolean {
  const frame = stack.split('\n').find((line) => line.startsWith('    at '));
  return frame?.includes('(node:internal/modules/') ?? false;
}

/**
 * Node prints the location of an error in a module, but does not expose it: `node --check` prints it again. Only for
 * the script itself.
 */
function locationByCheck(script: string | undefined, message: string): SourceLocation | undefined {
  if (script === undefined) return undefined;
  const { stderr, status } = spawnSync(process.execPath, ['--check', script], {
    encoding: 'utf8',
    timeout: checkTimeoutMs,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return status !== 0 && stderr.includes(message) ? locationInStack(stderr) : undefined;
}
