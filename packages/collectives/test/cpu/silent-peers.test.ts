import { expect, test } from 'vitest';

import { InvalidArgumentError } from '@ringrun/core';
import { silentPeerTimeout } from '../../src/cpu/silent-peers.ts';

test('the timeout is 15 s, RINGRUN_SILENT_PEER_TIMEOUT_S seconds, or the option', () => {
  const env = { RINGRUN_SILENT_PEER_TIMEOUT_S: '2.5' };
  expect(silentPeerTimeout(undefined, {})).toBe(15_000);
  expect(silentPeerTimeout(undefined, { RINGRUN_SILENT_PEER_TIMEOUT_S: ' ' })).toBe(15_000);
  expect(silentPeerTimeout(undefined, env)).toBe(2500);
  expect(silentPeerTimeout(4000, env)).toBe(4000);
});

test('times below 1 s or above a day are refused', () => {
  for (const option of [0, 999, 86_400_001, Number.NaN, Infinity, '5' as unknown as number]) {
    expect(() => silentPeerTimeout(option, {})).toThrow(InvalidArgumentError);
  }
  for (const value of ['0', '-1', 'soon', '86401', 'Infinity']) {
    expect(() => silentPeerTimeout(undefined, { RINGRUN_SILENT_PEER_TIMEOUT_S: value })).toThrow(
      `RINGRUN_SILENT_PEER_TIMEOUT_S is '${value}', expected seconds from 1 to 86400`,
    );
  }
});
