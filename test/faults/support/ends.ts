import type { Mode, OtherScript } from './ended-job.ts';

/** A row of the table of ways to end: the end that a launcher must report. */
export interface ExpectedEnd {
  way: string;
  script?: OtherScript;
  code: number;
  /** For an end that any rank may have first, without the rank. */
  last: string | RegExp;
  frame?: string;
  /** The end of a job that survives deaths, if it is another one. */
  shrink?: Pick<ExpectedEnd, 'code' | 'last' | 'frame'>;
  /** The end of two launchers, if it is another one. */
  elastic?: Pick<ExpectedEnd, 'code' | 'last' | 'frame'>;
  /** Modes without a row of their own. */
  not?: Mode[];
  /** Modes that `npm test` runs. Default: none. */
  quick?: Mode[];
}

const finishes = { code: 0, last: 'ringrun: the job finished without rank 1, after 1 process died' };
const finishesAfterExit = {
  code: 0,
  last: 'ringrun: the job finished; rank 1 (pid <pid>) had exited with code 0 without destroyProcessGroup()',
};

const loss = { code: 1, last: 'rank 1: RangeError: loss is NaN', frame: 'throwLoss (ways-to-end.js)' };
const typeError = "TypeError: Cannot read properties of undefined (reading 'scale')";
const killed = {
  code: 137,
  last: 'rank 1: killed by SIGKILL (signal 9: another process sent it, such as kill -9)',
};
const aborted = {
  code: 134,
  last: 'rank 1: killed by SIGABRT (signal 6: the process aborted: a failed assertion in native code, or "JavaScript heap out of memory" (NODE_OPTIONS=--max-old-space-size=<MB>))',
};
const neverSettles = { code: 13, last: 'rank 1: exit code 13 (Node: a top-level await never settled)' };

function inAct(last: string): { code: number; last: string; frame: string } {
  return { code: 1, last: `rank 1: ${last}`, frame: 'act (ways-to-end.js)' };
}

function exitsEarly(caller = 'act'): { code: number; last: string } {
  const advice = 'Await destroyProcessGroup() on every rank before its process exits';
  return {
    code: 1,
    last: `rank 1: exit code 0 while other ranks needed it (process.exit(0) at ${caller} (ways-to-end.js)). ${advice}`,
  };
}

function exits(code: number, caller = 'act'): { code: number; last: string } {
  const why = `process.exit was called at ${caller} (ways-to-end.js)`;
  return { code, last: `rank 1: exit code ${code} without an error record (${why})` };
}

function endsEarly(operation: string): { code: number; last: string } {
  return {
    code: 1,
    last:
      `rank 1: RingrunError: Rank 1 reached the end of its script while other ranks were in ${operation}. ` +
      'Give every rank the same number of batches or use join, await every promise of the training, and await destroyProcessGroup() on every rank at the end.',
  };
}

function mismatches(
  called: string,
  own: string,
  { frame = 'act (ways-to-end.js)', others = 'rank 0, rank 2' } = {},
): { code: number; last: string; frame: string } {
  const named = (ranks: string) => ranks.replace(/rank \d/g, '$& (host <host>, pid <pid>)');
  return {
    code: 1,
    last:
      `rank 1: CollectiveMismatchError: the ranks called different operations. ${named(others)}: ${called}; ${named('rank 1')}: ${own}. ` +
      'Call the same operations in the same order on every rank, with the same dtypes, lengths and options. No data was changed',
    frame,
  };
}

const sum = 'allReduce #5 (float32, 5 elements, SUM)';
/** The operation of the same step of the training. */
const average = 'allReduce #27 (float32, 491 elements, AVG)';
const broadcast = (number: number) => `broadcast #${number} (float32, 8 elements, from rank 0)`;

/** The rows in which rank 1 ends, then those in which the others do, then scripts that do not start. */
export const expectedEnds: readonly ExpectedEnd[] = [
  { way: 'throws before init', ...loss },
  {
    way: 'exits with 0 before init',
    code: 1,
    last: 'rank 1: exit code 0 while other ranks waited for it to join. Call initProcessGroup() on every rank',
    // The launcher of rank 0 does not know how rank 1 ended.
    elastic: {
      code: 1,
      last: /^rank 0: StoreTimeoutError: Rank 0 of 2 waited 4 s for rank 1 to join\./,
      frame: 'run (ends.script.js)',
    },
    quick: ['plain'],
  },
  { way: 'all throw before init', ...loss, last: 'RangeError: loss is NaN' },
  { way: 'throws after init', ...loss },
  { way: 'exits with 0 after init', ...exitsEarly() },
  { way: 'throws', ...loss, shrink: finishes, quick: ['restart', 'elastic'] },
  { way: 'all throw', ...loss, last: 'RangeError: loss is NaN' },
  { way: 'throws in a timer', ...loss, shrink: finishes },
  { way: 'rejects a promise', ...inAct('RangeError: loss is NaN'), shrink: finishes },
  {
    way: 'exits with 0',
    ...exitsEarly(),
    shrink: finishesAfterExit,
    quick: ['shrink', 'elastic'],
  },
  { way: 'exits with 1', ...exits(1), shrink: finishes },
  { way: 'exits with 3', ...exits(3), shrink: finishes },
  { way: 'exits with 200', ...exits(200), shrink: finishes },
  { way: 'exits with 0 in a timer', ...exitsEarly('Timeout._onTimeout'), shrink: finishesAfterExit },
  { way: 'sets exitCode and ends', ...endsEarly(sum), shrink: endsEarly(average) },
  { way: 'ends its script', ...endsEarly(sum), shrink: endsEarly(average), quick: ['plain'] },
  { way: 'never settles', ...neverSettles, shrink: finishes, quick: ['plain'] },
  { way: 'never settles before init', ...neverSettles },
  {
    way: 'destroys the group',
    ...mismatches(sum, 'destroy #5'),
    shrink: {
      code: 1,
      last: 'rank 1: exit code 0 after destroyProcessGroup() while other ranks needed it. Call it on every rank after the last operation',
      frame: 'act (ways-to-end.js)',
    },
    elastic: mismatches(sum, 'destroy #5', { others: 'rank 0' }),
  },
  { way: 'destroys the group, exits with 0', ...exitsEarly(), shrink: finishesAfterExit },
  { way: 'SIGKILL', ...killed, shrink: finishes },
  {
    way: 'SIGTERM',
    code: 143,
    last: 'rank 1: killed by SIGTERM (signal 15: another process sent it, such as kill, or its container was stopped)',
    shrink: finishes,
  },
  {
    way: 'SIGSEGV',
    code: 139,
    last: 'rank 1: killed by SIGSEGV (signal 11: native code accessed invalid memory)',
    shrink: finishes,
  },
  { way: 'aborts', ...aborted, shrink: finishes },
  { way: 'exhausts its heap', ...aborted, shrink: finishes },
  {
    way: 'overflows its stack',
    code: 1,
    last: 'rank 1: RangeError: Maximum call stack size exceeded',
    frame: 'overflowStack (ways-to-end.js)',
    shrink: finishes,
  },
  { way: 'throws in a worker thread', ...loss, frame: '[worker eval]:1:7', shrink: finishes },
  { way: 'throws undefined', code: 1, last: 'rank 1: undefined', shrink: finishes },
  { way: 'throws a string', code: 1, last: "rank 1: 'loss is NaN'", shrink: finishes },
  { way: 'throws an object', code: 1, last: 'rank 1: { loss: NaN }', shrink: finishes },
  {
    way: 'throws an object with a getter that throws',
    code: 1,
    last: 'rank 1: { message: [Getter], code: [Getter] }',
    shrink: finishes,
    quick: ['plain'],
  },
  { way: 'throws a huge message', ...inAct('RangeError: loss …'), shrink: finishes },
  {
    way: 'throws control characters',
    ...inAct(String.raw`RangeError: loss \x1b[2J\x0d is \u{202e} NaN`),
    shrink: finishes,
  },
  { way: 'throws an error with causes', ...inAct('Error: step failed'), shrink: finishes },
  { way: 'throws an AggregateError', ...inAct('AggregateError: two failed'), shrink: finishes },
  {
    way: 'calls another operation',
    ...mismatches(sum, broadcast(5), { frame: 'reach (ends.script.js)' }),
    shrink: mismatches(average, broadcast(27), { frame: 'reach (ends.script.js)' }),
    // Both sides have one rank.
    not: ['elastic'],
  },
  {
    way: 'is stuck',
    code: 1,
    last: /^rank [02]: CollectiveTimeoutError: .* did not complete within 4000 ms \(.*\)\. Missing: rank 1 \(/,
    frame: 'addUp (ends.script.js)',
    shrink: finishes,
  },
  { way: 'dies in destroyProcessGroup', ...killed },
  { way: 'throws after destroyProcessGroup', ...loss },
  { way: 'exits with 3 after destroyProcessGroup', ...exits(3) },
  {
    way: 'survivors exit with 1',
    ...killed,
    shrink: { ...exits(1), last: exits(1).last.replace('rank 1: ', '') },
    quick: ['plain'],
  },
  {
    way: 'survivors exit with 1 after an exit with 0',
    ...exitsEarly('first'),
    shrink: { ...exits(1), last: exits(1).last.replace('rank 1: ', '') },
    quick: ['elastic'],
  },
  {
    way: 'survivors exit with 1 after an error',
    ...exits(1, 'first'),
    shrink: { ...exits(1), last: exits(1).last.replace('rank 1: ', '') },
  },
  {
    way: 'survivors wrap the error',
    ...killed,
    shrink: { code: 1, last: 'Error: training failed', frame: 'act (ways-to-end.js)' },
    quick: ['elastic'],
  },
  {
    way: 'survivors throw an AggregateError',
    ...killed,
    shrink: { code: 1, last: 'AggregateError: training failed', frame: 'act (ways-to-end.js)' },
  },
  {
    way: 'survivors throw a TypeError',
    ...killed,
    shrink: { code: 1, last: typeError, frame: 'throwTypeError (ways-to-end.js)' },
    quick: ['shrink'],
  },
  {
    way: 'its replacement throws',
    ...killed,
    // The replacement throws while the others train, or after their training.
    shrink: { code: 0, last: /the job finished without rank 1, after (1 process|2 processes) died$/ },
    // A restart of all ranks is no replacement.
    not: ['plain', 'restart', 'elastic'],
    quick: ['shrink'],
  },
  {
    way: 'has a syntax error',
    script: { name: 'train.mjs', source: 'const b = ;\n' },
    code: 1,
    last: "SyntaxError: Unexpected token ';'\n  train.mjs\n  const b = ;",
  },
  {
    way: 'has a type that does not parse',
    script: { name: 'train.ts', source: 'const b: = 2;\n' },
    code: 1,
    last: 'Error: Transform failed with 1 error:\n  train.ts: ERROR: Unexpected "="\n  const b: = 2;',
  },
  {
    way: 'imports a missing module',
    script: { name: 'train.mjs', source: "import './nothing.mjs';\n" },
    code: 1,
    last: "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'nothing.mjs' imported from train.mjs",
  },
  {
    way: 'does not exist',
    script: { name: 'train.mjs' },
    code: 2,
    last: 'ringrun: The script train.mjs does not exist. Pass its path from ends, or an absolute path.',
  },
];
