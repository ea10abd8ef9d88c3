import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Where in the source an error is: `/job/train.ts:2:9: ERROR: Unexpected "="` or `file:///job/train.mjs:2:11`, and that line of it. */
export type SourcePlace = readonly [place: string, line: string];

const checkTimeoutMs = 5000;

/** Of an error that says where the source cannot be read: one of syntax, or of esbuild, which tsx has transform TypeScript. */
export function sourcePlaceOf(error: unknown, script = process.argv[1]): SourcePlace | undefined {
  if (!(error instanceof Error)) return undefined;
  const transformed = placeOfTransform(error);
  if (transformed) return transformed;
  if (error.name !== 'SyntaxError') return undefined;
  return (
    placeInStack(error.stack ?? '') ?? (isOfModule(error) ? placeByCheck(script, error.message) : undefined)
  );
}

/** esbuild's message has the place in its second line. tsx's loader runs in a thread of its own, so nothing but the message and the stack arrives. */
function placeOfTransform({ message }: Error): SourcePlace | undefined {
  const [headline, place = ''] = message.split('\n');
  const found = /^(.+):(\d+):\d+: ERROR: /.exec(place);
  if (!headline.startsWith('Transform failed with ') || !found) return undefined;
  return [place, lineOf(found[1], Number(found[2]))];
}

function lineOf(file: string, number: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[number - 1]?.trim() ?? '';
  } catch {
    return '';
  }
}

/** Node puts `file:///job/train.mjs:2`, that line and a mark below it in front of the stack, for most errors of syntax. */
function placeInStack(stack: string): SourcePlace | undefined {
  const [place, line = '', mark = ''] = stack.split('\n');
  if (!/^\S.*:\d+$/.test(place) || !/^\s*\^+\s*$/.test(mark)) return undefined;
  return [`${place}:${mark.indexOf('^') + 1}`, line.trim()];
}

/** Thrown by Node's loader, of a module that could not be compiled. An error that a program threw itself, as JSON.parse does, has another first frame. */
function isOfModule({ stack = '' }: Error): boolean {
  const frame = stack.split('\n').find((line) => line.startsWith('    at '));
  return frame?.includes('(node:internal/modules/') ?? false;
}

/** Node keeps the place in a module for the report that it prints itself: asked again, it prints it. Nothing where the error is in a module that the script imports. */
function placeByCheck(script: string | undefined, message: string): SourcePlace | undefined {
  if (script === undefined) return undefined;
  const { stderr, status } = spawnSync(process.execPath, ['--check', script], {
    encoding: 'utf8',
    timeout: checkTimeoutMs,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return status !== 0 && stderr.includes(message) ? placeInStack(stderr) : undefined;
}
