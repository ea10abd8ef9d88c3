import { describe, expect, test } from 'vitest';
import { givenLocation, givenPath } from '../src/given-location.ts';

test.each([
  ['a/b c', 'a/b c'],
  ['/a/100%', '/a/100%'],
  ['file:///a/b%20c', '/a/b c'],
  [new URL('file:///a/b%20c'), '/a/b c'],
  [new URL('file:///shards/train-{000..019}.tar'), '/shards/train-{000..019}.tar'],
  ['C:not-a-scheme', 'C:not-a-scheme'],
])('%s is the path %s', (given, path) => {
  expect(givenPath(given, 'load')).toBe(path);
  expect(givenLocation(given, 'load')).toBe(path);
});

test('a bucket is a location, but not a path', () => {
  expect(givenLocation('s3://bucket/a b', 'load')).toBe('s3://bucket/a b');
  expect(givenLocation(new URL('s3://bucket/a b'), 'load')).toBe('s3://bucket/a b');
  expect(() => givenPath('s3://bucket/a', 'load')).toThrow(
    "load: expected a path or a file: URL, got 's3://bucket/a'.",
  );
});

describe('refuses', () => {
  test.each([
    [new URL('https://example.org/a'), "got 'https://example.org/a'."],
    ['gs://bucket/a', "got 'gs://bucket/a'."],
    ['file://host/a', "got 'file://host/a' (File URL host must be"],
    ['', "got ''."],
    ['a\0b', "got 'a\0b'."],
    [undefined, 'got undefined.'],
    [null, 'got null.'],
    [7, 'got 7.'],
    [{ path: 'a' }, 'got [object Object].'],
  ])('%s', (given, message) => {
    const who = 'Checkpointer: dir';
    const expected = `${who}: expected a path, a file: URL or s3://bucket/prefix, ${message}`;
    expect(() => givenLocation(given as string, who)).toThrow(expected);
    expect(() => givenPath(given as string, who)).toThrow(message);
  });
});
