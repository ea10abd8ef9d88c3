import { expect, test } from 'vitest';
import { InvalidArgumentError } from '../src/errors.ts';
import { withoutCredentials } from '../src/without-credentials.ts';

test.each([
  ['s3://key:sec/r+et@bucket/prefix', 's3://***@bucket/prefix'],
  ['reading tcp://user:pa@ss@host:29500: failed', 'reading tcp://***@host:29500: failed'],
  ['"https://token@proxy:3128/", http://a:b@c', '"https://***@proxy:3128/", http://***@c'],
  ['https://b/k?X-Amz-Signature=abc&x=1&token=t', 'https://b/k?X-Amz-Signature=***&x=1&token=***'],
  ['tcp://host:29500/a@b s3://bucket/a@b file:///a@b', 'tcp://host:29500/a@b s3://bucket/a@b file:///a@b'],
  ['user@host: no URL', 'user@host: no URL'],
])('%s is printed as %s', (text, expected) => {
  expect(withoutCredentials(text)).toBe(expected);
});

test('errors mask credentials in message and stack, and in those of their causes', () => {
  const cause = new TypeError('Request cannot be constructed from http://user:hidden@host/');
  const error = new InvalidArgumentError('initMethod is "tcp://user:hidden@host:1".', { cause });
  expect(error.message).toBe('initMethod is "tcp://***@host:1".');
  for (const { message, stack } of [error, cause]) {
    expect(message + stack!).not.toContain('hidden');
    expect(stack).toContain(message);
  }
});
