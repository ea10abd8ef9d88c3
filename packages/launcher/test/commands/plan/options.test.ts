import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { equalLinks } from '@ringrun/collectives';
import { linksOf } from '../../../src/commands/plan/links.ts';
import { runPlan } from '../../../src/commands/plan/main.ts';
import { parsePlanOptions } from '../../../src/commands/plan/options.ts';
import { formatBits, formatSeconds, parseBytes, parseLink } from '../../../src/commands/plan/units.ts';
import { temporaryFolder } from '../../../../../test/support/temporary-folder.ts';

const folder = temporaryFolder();
const least = ['--nodes', '8', '--model-bytes', '500M', '--link', '1Gbit/20ms'];

/** What a command line prints, to stdout and stderr. */
function printed(run: () => unknown): { out: string; error: string; thrown: unknown } {
  const printed = { out: '', error: '', thrown: undefined as unknown };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.out += String(text);
    return true;
  });
  const error = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed.error += String(text);
    return true;
  });
  try {
    run();
  } catch (thrown) {
    printed.thrown = thrown;
  } finally {
    out.mockRestore();
    error.mockRestore();
  }
  return printed;
}

test('links and bytes are read with their units', () => {
  expect(parseLink('1Gbit/20ms')).toEqual({ bitsPerSecond: 1e9, roundTripSeconds: 0.02 });
  expect(parseLink('2.5mbit/s/150us')).toMatchObject({ bitsPerSecond: 2.5e6 });
  expect(parseLink('100Mbit/1s').roundTripSeconds).toBe(1);
  expect(parseBytes('500M')).toBe(5e8);
  expect(parseBytes('1.5GB')).toBe(1.5e9);
  expect(parseBytes('2GiB')).toBe(2 ** 31);
  for (const text of ['1Gbit', '20ms', '1GB/20ms', '0bit/1ms', 'fast'])
    expect(() => parseLink(text)).toThrow('such as');
  for (const text of ['', '0', '-1', '5X', '1e9']) expect(() => parseBytes(text)).toThrow('such as');
});

test('figures are printed with units', () => {
  expect([0.0004, 0.0523, 1.2345, 700, 40_000].map(formatSeconds)).toEqual([
    '0.4 ms',
    '52.3 ms',
    '1.23 s',
    '12 min',
    '11.1 h',
  ]);
  expect([125e6, 1.25e6, 1000].map(formatBits)).toEqual(['1 Gbit/s', '10 Mbit/s', '8 kbit/s']);
});

describe('options', () => {
  test('have defaults', () => {
    expect(parsePlanOptions(least)).toEqual({
      nodes: 8,
      ranksPerNode: 1,
      modelBytes: 5e8,
      link: { bitsPerSecond: 1e9, roundTripSeconds: 0.02 },
      linksFile: undefined,
      stepSeconds: 0.3,
      bucketBytes: 25 * 2 ** 20,
      hooks: ['none', 'bf16', 'int8', 'int4', 'powersgd'],
      innerSteps: [10, 100, 500],
      fragments: 4,
      json: false,
    });
  });

  test.each([
    [['--nodes', '8', '--model-bytes', '1G'], /expected one of --link and --links/],
    [['--model-bytes', '1G', '--link', '1Gbit/1ms'], /expected --nodes with --link/],
    [['--nodes', '8', '--link', '1Gbit/1ms'], /--model-bytes/],
    [[...least, '--link', '1GB'], /Expected a bandwidth and the round-trip time/],
    [[...least, '--hook', 'int2'], /Allowed choices are none, bf16, int8, int4, powersgd/],
    [[...least, '--local-steps', '3'], /--fragments: expected at most --local-steps, 3, got 4/],
    [[...least, '--local-steps', '10,10'], /Expected different numbers/],
    [[...least, '--nodes', '0'], /Expected nodes from 1 to 1024/],
    [[...least, '--step-ms', '0'], /Expected milliseconds above 0/],
  ])('refuse %j', (argv, message) => {
    const { error, thrown } = printed(() => parsePlanOptions(argv));
    expect(thrown).toMatchObject({ exitCode: 1 });
    expect(error).toMatch(/^ringrun plan: /);
    expect(error).toMatch(message);
  });
});

describe('links', () => {
  test('of --link have half of the round trip, and the bandwidth without headers', () => {
    const { hosts, delay, bandwidth, capacity } = linksOf(parsePlanOptions(least));
    expect(hosts).toHaveLength(8);
    expect(delay[0]).toEqual([0, ...new Array<number>(7).fill(0.01)]);
    expect(bandwidth[3][4] / 125e6).toBeCloseTo(0.956, 3);
    expect(capacity[5]).toBe(bandwidth[3][4]);
  });

  test('of a file are read, and refused if they are something else', () => {
    const path = join(folder, 'links.json');
    const links = equalLinks(3, { bytesPerSecond: 1e6, delay: 0.01 });
    const from = (content: unknown, ...more: string[]) => {
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
      return linksOf(parsePlanOptions(['--model-bytes', '1G', '--links', path, ...more]));
    };
    expect(from(links)).toEqual(links);
    expect(() => from(links, '--nodes', '4')).toThrow(`expected 3, the hosts of ${path}, got 4`);
    expect(() => from('{')).toThrow(/expected JSON/);
    for (const wrong of [
      null,
      { ...links, hosts: ['a', 'b'] },
      { ...links, capacity: [1, 1] },
      { ...links, bandwidth: links.delay.map((row) => row.map(() => 0)) },
      { ...links, delay: [[0], [0], [0]] },
    ])
      expect(() => from(wrong)).toThrow(/expected hosts \(names\), delay \(seconds\)/);
    expect(() => linksOf(parsePlanOptions(['--model-bytes', '1', '--links', join(folder, 'none')]))).toThrow(
      /--links: expected a JSON file of links, got .*none, which/,
    );
  });
});

test('the command prints a row for each way, or JSON', () => {
  const { out } = printed(() => runPlan([...least, '--local-steps', '100']));
  const lines = out.split('\n');
  expect(lines[0]).toBe('8 nodes with one rank each, 500 MB of parameters, 300 ms of computation per step');
  expect(lines[2]).toMatch(/^way +step +steps\/s +efficiency +sent per step +limited by$/);
  expect(lines.slice(3, 14).map((line) => line.split('  ')[0])).toEqual([
    ...['DDP', 'DDP, bf16', 'DDP, int8', 'DDP, int4', 'DDP, powersgd'],
    ...['float32', 'int8', 'int4'].map((transport) => `DiLoCo, 100 steps, ${transport}`),
    ...['float32', 'int8', 'int4'].map((transport) => `DiLoCo, 100 steps, 4 fragments, ${transport}`),
  ]);
  expect(lines[3]).toMatch(/^DDP +[\d.]+ s +[\d.]+ +\d+% +875 MB +bandwidth 956 Mbit\/s$/);

  const json = JSON.parse(printed(() => runPlan([...least, '--hook', 'int8', '--json'])).out) as {
    ways: { way: string; stepSeconds: number }[];
  };
  expect(json).toMatchObject({ ranksPerNode: 1, modelBytes: 5e8, computationSeconds: 0.3 });
  expect(json.ways[0].way).toBe('DDP, int8');
  expect(json.ways).toHaveLength(1 + 3 * 6);
});
