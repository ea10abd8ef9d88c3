import { describe, expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { python, torchProblem } from './support/torch-problem.ts';

const script = 'test/fixtures/torch_ddp.py';
const problem = torchProblem();
const run = ['--no-node', '--nproc-per-node', '2', python, script];
// Each process would compute on all processors of the machine.
const env = { OMP_NUM_THREADS: 1 };

describe.skipIf(problem)(`a PyTorch script, unchanged${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('trains on two processes of this host', async () => {
    const { stdout, ...ended } = await launch(run, { env }).ended;
    expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      'rank 0 of 2 (0 of 2 on 0): 3.000 1.000',
      'rank 1 of 2 (1 of 2 on 0): 3.000 1.000',
    ]);
  });

  test('that fails is the root cause, with the traceback that @record keeps', async () => {
    const { code, stderr, left } = await launch([...run, '--fail'], { env }).ended;
    expect([code, left]).toEqual([1, []]);
    expect(stderr).toMatch(/^ {2}Traceback \(most recent call last\):$/m);
    expect(stderr).toContain('    raise ValueError("no more data")');
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^ringrun: root cause: rank 1 on host .*: exit code 1, ValueError: no more data$/,
    );
  });
});
