import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch } from '../support/command.ts';
import { ways } from '../support/extent.ts';
import { freePort } from '../support/free-port.ts';
import { inParallel } from './support/in-parallel.ts';

const script = builtScript('faults/run-ids.script');

const long = (characters: number) => 'run-'.repeat(characters / 4);

/** Ids that a shell can pass: no argument of a process contains NUL. */
const ids: Readonly<Record<string, string>> = {
  'a tab': 'a\tb',
  'CR LF': 'a\r\nb',
  'an escape sequence': '\x1b[31mred\x1b[0m',
  'a zero-width space': 'a\u200bb',
  'a right-to-left override': 'a\u202eb',
  'a line separator': 'a\u2028b',
  'the longest id': long(4096),
  '2,001 characters that are escaped': '\x07'.repeat(2001),
  emoji: '🚀👩‍🚀',
  'leading and trailing spaces': '  a  ',
  quotes: `"a" 'b' \`c\` \\d`,
  'percent signs and braces': '%s %d ${HOME} {} $1',
  'a path': '../../etc/passwd',
};

async function nodesOf(backend: string, name: string, lines: readonly string[] = []) {
  const at = `127.0.0.1:${await freePort()}`;
  const [host, port] = at.split(':');
  const node = (rank: number, id: string) => {
    const place =
      backend === 'static'
        ? ['--node-rank', String(rank), '--master-addr', host, '--master-port', port]
        : ['--rdzv-backend', 'c10d', '--rdzv-endpoint', at];
    return launch(['--nnodes', '2', `--rdzv-id=${id}`, ...place, ...lines, script]);
  };
  return { node, id: ids[name] };
}

/** Characters that a terminal would act on, or would not show. */
const unprintable = /[^\n\P{C}]|[\u2028\u2029]/u;

const few = ['CR LF', 'an escape sequence', '2,001 characters that are escaped'];
const others = Object.keys(ids).filter((name) => !few.includes(name));

test.each([
  ['c10d', ways(few, others)],
  ['static', ways(few.slice(1, 2), [...few.slice(0, 1), ...few.slice(2), ...others])],
])('two launchers run a job with any id, and print it escaped (%s)', async (backend, names) => {
  await inParallel(names, 3, async (name) => {
    const { node, id } = await nodesOf(backend, name, ['--tee', '1']);
    const ends = await Promise.all([node(0, id), node(1, id)].map(({ ended }) => ended));
    const given = Buffer.from(id).toString('base64');
    for (const { code, stdout, stderr, left } of ends) {
      expect({ name, code, left }, stderr).toEqual({ name, code: 0, left: [] });
      expect(stdout, name).toContain(`sum 3, id ${given}`);
      expect(stdout + stderr, name).not.toMatch(unprintable);
    }
  });
});

test('a node whose id differs in a character that is not visible is refused, with both ids escaped', async () => {
  const { node } = await nodesOf('c10d', 'emoji');
  const first = node(0, 'run\u200b1');
  await first.sees(/waiting for/);
  const refused = await node(1, 'run1').ended;
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(
    'its --rdzv-id is "run1", but the job at this endpoint has "run\\u{200b}1"',
  );
  const end = await Promise.all([first.ended, node(1, 'run\u200b1').ended]);
  expect(end.map(({ code }) => code)).toEqual([0, 0]);
});

test('an id of more than 4,096 bytes is refused at once', async () => {
  for (const id of [long(4100), long(100_000), '🚀'.repeat(1025)]) {
    const { code, stderr } = await launch(['--nproc', '2', `--rdzv-id=${id}`, script]).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('Expected at most 4096 bytes');
    expect(stderr.length).toBeLessThan(5000);
  }
});
