import { expect, test } from 'vitest';
import { decodeIdentity, describeIdentity, encodeIdentity } from '../../src/checkpoint/writer-identity.ts';

const identity = { id: 'a', host: 'host\t1', pid: 7, since: '2026-01-02T03:04:05.678Z' };

test.each(['a\tb', 'a\r\nb', '\x1b[31m', 'a\u200bb', 'x'.repeat(4096)])(
  'the run id %j is read as it was written, so that a restarted job knows its own lock, and is shown escaped',
  (runId) => {
    const read = decodeIdentity(encodeIdentity({ ...identity, runId }));
    expect(read).toEqual({ ...identity, runId });
    expect(describeIdentity(read)).not.toMatch(/\p{C}/u);
  },
);
