import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { writeLinksFile } from '../../src/links/links-file.ts';
import {
  checkSameLinks,
  linksDigest,
  requestedLinks,
  savedLinksPath,
} from '../../src/links/requested-links.ts';

const links = {
  hosts: ['a', 'b'],
  delay: [
    [0, 1],
    [1, 0],
  ],
  bandwidth: [
    [0, 5],
    [5, 0],
  ],
  capacity: [5, 5],
};

const folder = temporaryFolder();

describe('the requested links', () => {
  test('are none by default, and the option overrides RINGRUN_LINKS', () => {
    expect(requestedLinks(undefined, {})).toBeUndefined();
    expect(requestedLinks(undefined, { RINGRUN_LINKS: ' ' })).toBeUndefined();
    expect(requestedLinks(undefined, { RINGRUN_LINKS: 'measure' })).toBe('measure');
    expect(requestedLinks(links, { RINGRUN_LINKS: 'measure' })).toEqual(links);
  });

  test('are read from a file that writeLinksFile wrote', () => {
    const path = join(folder, 'links.json');
    writeLinksFile(path, links);
    expect(requestedLinks(undefined, { RINGRUN_LINKS: path })).toEqual(links);
    expect(readFileSync(path, 'utf8').split('\n')).toContain('    [0,1],');
  });

  test('are refused from a file that is missing, a folder, or not JSON', () => {
    const missing = join(folder, 'missing.json');
    expect(() => requestedLinks(missing)).toThrow(
      `The option links: expected 'measure' or a JSON file of links, got ${missing}, which does not exist.`,
    );
    mkdirSync(join(folder, 'inner'));
    expect(() => requestedLinks(undefined, { RINGRUN_LINKS: join(folder, 'inner') })).toThrow(
      /RINGRUN_LINKS: .* which is a folder/,
    );
    const path = join(folder, 'text.json');
    writeFileSync(path, '{"hosts": [');
    expect(() => requestedLinks(path)).toThrow(/text\.json: expected JSON, got /);
  });
});

test('measured links are saved only if links are measured, to a path that can be written', () => {
  const path = join(folder, 'saved.json');
  expect(savedLinksPath('measure', {})).toBeUndefined();
  expect(savedLinksPath('measure', { RINGRUN_SAVE_LINKS: path })).toBe(path);
  expect(() => savedLinksPath(links, { RINGRUN_SAVE_LINKS: path })).toThrow(
    /RINGRUN_SAVE_LINKS is .* links are not measured/,
  );
  expect(() => savedLinksPath('measure', { RINGRUN_SAVE_LINKS: folder })).toThrow(
    /RINGRUN_SAVE_LINKS: .* which is a folder/,
  );
});

test('ranks with different links are refused with both', () => {
  const info = (rank: number, requested: Parameters<typeof linksDigest>[0]) => ({
    rank,
    host: `host${rank}`,
    pid: 10 + rank,
    links: linksDigest(requested),
  });
  const other = { ...links, capacity: [5, 6] };
  expect(linksDigest({ ...links })).toBe(linksDigest(links));
  expect(() => {
    checkSameLinks([info(0, links), info(1, { ...links })]);
  }).not.toThrow();
  expect(() => {
    checkSameLinks([info(0, 'measure'), info(1, undefined)]);
  }).toThrow(/got 'measure' on rank 0 \(host host0, pid 10\) and none on rank 1 \(host host1, pid 11\)/);
  expect(() => {
    checkSameLinks([info(0, links), info(1, other)]);
  }).toThrow(/digest [0-9a-f]{12} on rank 0 .* digest [0-9a-f]{12} on rank 1/);
});
