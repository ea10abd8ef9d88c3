import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import {
  figuresFile,
  recordFile,
  removeOldRounds,
  removeRecords,
  removeSocket,
  replacementFile,
} from '../../src/job/worker-files.ts';
import { recoveryMarkOf } from '../../src/worker/recovery-mark.ts';
import { savingMarkOf } from '../../src/worker/saving-mark.ts';
import { stackSocketName } from '../../src/stacks/stack-socket.ts';

const folder = temporaryFolder();

function write(...paths: string[]): void {
  for (const path of paths) writeFileSync(path, '');
}

test('the name of a replacement does not grow with the number of replacements', () => {
  let file = recordFile(folder, 0, 1);
  for (let i = 1; i <= 1000; i += 1) file = replacementFile(file, i);
  expect(basename(file)).toBe('restart-0-local-rank-1-replacement-1000.json');
});

test('removes the record of a worker and its marks, and no file of another worker', () => {
  const first = recordFile(folder, 0, 1);
  const second = replacementFile(first, 1);
  const others = [second, recoveryMarkOf(second), recordFile(folder, 0, 11), figuresFile(folder, 0, 1)];
  const sockets = [stackSocketName(1, 12), stackSocketName(1, 123)].map((name) => join(folder, name));
  write(first, recoveryMarkOf(first), savingMarkOf(first), ...others, ...sockets);
  removeRecords(first);
  removeSocket(folder, 1, 12);
  const left = [...others, sockets[1]].map((path) => basename(path));
  expect(readdirSync(folder).sort()).toEqual(left.sort());
});

test('a round keeps the files of the last one, and removes those of earlier ones and all sockets', () => {
  const place = mkdtempSync(join(folder, 'round-'));
  const kept = [recordFile(place, 9, 0), figuresFile(place, 9, 0), recordFile(place, 10, 0)];
  write(...kept, recordFile(place, 8, 0), figuresFile(place, 8, 0), join(place, stackSocketName(0, 7)));
  write(join(place, 'events.json'));
  removeOldRounds(place, 10);
  const left = [...kept.map((path) => basename(path)), 'events.json'];
  expect(readdirSync(place).sort()).toEqual(left.sort());
});
