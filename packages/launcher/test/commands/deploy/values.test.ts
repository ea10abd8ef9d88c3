import { expect, test } from 'vitest';
import * as values from '../../../src/commands/deploy/values.ts';

const digest = `sha256:${'0'.repeat(64)}`;

test.each<[parse: (text: string) => unknown, accepted: string[], rejected: string[]]>([
  [
    values.parseImage,
    [
      'train',
      'train:1',
      'team/train',
      'registry.example/team/train:v1.2_3',
      'localhost:5000/train',
      `a.b/c@${digest}`,
    ],
    ['', 'Train', 'train:', 'train:1:2', 'a//b', '/a', 'a b', 'a/b:-1', 'train@sha256:00', '-a', 'a:1/'],
  ],
  [
    values.parseJobName,
    ['a', 'mnist-2', 'a'.repeat(63)],
    ['', 'Mnist', '2nd', '-a', 'a-', 'a_b', 'a.b', 'a'.repeat(64), 'a\n'],
  ],
  [values.parseNamespace, ['2', 'team-a'], ['', 'Team', 'a.b', 'a'.repeat(64)]],
  [values.parseObjectName, ['a', 'a.b-c', '0'], ['', 'A', 'a..b', '.a', 'a-', 'a/b']],
  [
    values.parseCpu,
    ['1', '1.5', '500m', '0.25'],
    ['', '0', '0m', '-1', '1.2345', '1.5m', '2 cores', '1e3', '2Gi'],
  ],
  [
    values.parseMemory,
    ['4Gi', '500M', '1.5Gi', '100k'],
    ['', '4', '0Gi', '4GB', '4gb', '4 Gi', '400m', '-1Gi', '1Ki2'],
  ],
  [
    values.parseLabel,
    ['a=b', 'kubernetes.io/arch=amd64', 'a=', 'nvidia.com/gpu.present=true'],
    ['a', '=b', 'a=b=c', 'a/b/c=d', 'A.B/c=d', 'a=-b', `a=${'b'.repeat(64)}`],
  ],
  [
    values.parseToleration,
    ['sku=gpu:NoSchedule', 'nvidia.com/gpu:NoExecute', 'sku', 'sku=gpu', 'sku=:NoSchedule'],
    ['', '=gpu', 'sku=gpu:Never', 'sku:', 'a b', 'a/b/c'],
  ],
  [values.parseVariable, ['A=b', 'A=', 'A=b=c', '_a1=x y\nz'], ['', 'A', '=b', '1A=b', 'A-B=c']],
  [
    values.parseNodeRange,
    ['1', '1000', '1:3', '2:2'],
    ['0', '-1', '3:1', '1:2:3', '0:2', '1.5', '1001', '1:1001', ''],
  ],
  [values.parseAccessMode, ['ReadWriteOnce', 'readwritemany'], ['', 'ReadOnlyMany', 'RWX']],
  [
    values.parseRoleArn,
    ['arn:aws:iam::111122223333:role/trainer', 'arn:aws-cn:iam::111122223333:role/path/trainer'],
    ['', 'trainer', 'arn:aws:iam::1:role/trainer', 'arn:aws:iam::111122223333:user/me'],
  ],
  [
    values.parseOidcProvider,
    ['oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE', 'https://oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE'],
    ['', 'EXAMPLE', 'http://a.b/c', 'a.b/c d'],
  ],
  [values.parseBucket, ['training-runs', 'a.b.c'], ['', 's3://runs', 'Runs', 'runs/a']],
  [values.parseGpus, ['0', '8'], ['-1', 'two', '65']],
])('%o accepts and rejects', (parse, accepted, rejected) => {
  for (const text of accepted) expect(() => parse(text), text).not.toThrow();
  for (const text of rejected) expect(() => parse(text), text).toThrow(/^Expected /);
});

test('parsed taints and labels have keys, values and effects', () => {
  expect(values.parseToleration('sku=gpu:NoSchedule')).toEqual({
    key: 'sku',
    value: 'gpu',
    effect: 'NoSchedule',
  });
  expect(values.parseToleration('a.b/c')).toEqual({ key: 'a.b/c', value: undefined, effect: undefined });
  expect(values.parseToleration('a=:NoExecute')).toEqual({ key: 'a', value: '', effect: 'NoExecute' });
  expect(values.parseLabel('a=')).toEqual(['a', '']);
  expect(values.parseVariable('A=b=c')).toEqual(['A', 'b=c']);
});

test('errors suggest the nearest quantity and name', () => {
  expect(() => values.parseMemory('4GB')).toThrow(/Try 4Gi\.$/);
  expect(() => values.parseMemory('512 mb')).toThrow(/Try 512Mi\.$/);
  expect(() => values.parseMemory('lots')).toThrow(/500M\.$/);
  expect(() => values.parseJobName('2nd Run_a')).toThrow(/Try nd-run-a\.$/);
});

test.each([
  ['My Job_2', 'my-job-2'],
  ['2024-mnist', 'mnist'],
  ['été', 't'],
  ['---', undefined],
  ['', undefined],
  [`${'a'.repeat(39)}-b`, 'a'.repeat(39)],
])('the job name of %j is %j', (text, name) => {
  expect(values.toJobName(text)).toBe(name);
  if (name !== undefined) expect(values.parseJobName(name)).toBe(name);
});
