// A volume that is full for some time.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseFigures } from '../../../launcher/src/worker/rank-figures.ts';
import { FiguresPublisher } from '../../src/report/publish-figures.ts';
import { EventFile } from '../../src/tensorboard/event-file.ts';
import { maskedCrc32c } from '../../src/tensorboard/tfrecord.ts';
import { canMount, fill, mounted, mountProblem } from '../support/small-volume.ts';

function linesOfStderr(): string[] {
  const lines: string[] = [];
  const written = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => lines.push(String(text)) > 0);
  onTestFinished(() => {
    written.mockRestore();
  });
  return lines;
}

/** The contents of a file's records, whose checksums must be right. */
function recordsOf(path: string): string[] {
  const file = readFileSync(path);
  const records: string[] = [];
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at));
    const bytes = file.subarray(at + 12, at + 12 + length);
    expect(file.readUInt32LE(at + 8)).toBe(maskedCrc32c(file.subarray(at, at + 8)));
    expect(file.readUInt32LE(at + 12 + length)).toBe(maskedCrc32c(bytes));
    records.push(bytes.toString('latin1').replace(/x+$/, ''));
    at += 12 + length + 4;
  }
  return records;
}

test.runIf(canMount)(`an event file continues when there is space again${mountProblem}`, async () => {
  const folder = mounted('size=256k')!;
  const lines = linesOfStderr();
  const file = new EventFile(join(folder, 'events'));
  const append = async (name: string, bytes: number) => {
    file.append(Buffer.from(name.padEnd(bytes, 'x')));
    await file.flush();
  };
  await append('first', 10_000);
  const free = fill(folder);
  // Their first bytes fit into the last page, which the file has already.
  await append('lost 1', 10_000);
  expect(file.failure).toMatchObject({ code: 'ENOSPC' });
  expect(recordsOf(file.path)).toEqual(['first']);
  await append('lost 2', 10_000);
  free();
  await append('later', 20_000);
  await append('last', 10);
  await file.close();
  expect(file.failure).toBeUndefined();
  expect(recordsOf(file.path)).toEqual(['first', 'later', 'last']);
  expect(lines).toEqual([
    expect.stringMatching(/^ringrun: writing .*\/events failed \(ENOSPC.*\)\. Training continues without/),
    expect.stringMatching(/^ringrun: .*\/events can be written again; 2 TensorBoard records are lost\.\n$/),
  ]);
});

test.runIf(canMount)(`the first record is not lost${mountProblem}`, async () => {
  const folder = mounted('size=256k')!;
  linesOfStderr();
  const file = new EventFile(join(folder, 'events'));
  const free = fill(folder);
  file.append(Buffer.from('version'));
  await file.flush();
  file.append(Buffer.from('lost'));
  await file.flush();
  free();
  file.append(Buffer.from('later'));
  await file.close();
  expect(recordsOf(file.path)).toEqual(['version', 'later']);
});

test.runIf(canMount)(`records before a broken one of the same write are kept${mountProblem}`, async () => {
  const folder = mounted('size=64k')!;
  linesOfStderr();
  const file = new EventFile(join(folder, 'events'));
  for (let i = 0; i < 9; i += 1) file.append(Buffer.from(`${i}`.padEnd(10_000, 'x')));
  await file.flush();
  expect(recordsOf(file.path)).toEqual(['0', '1', '2', '3', '4', '5']);
  await file.close();
});

test.runIf(canMount)(
  `figures for the dashboard continue when there is space again${mountProblem}`,
  async () => {
    const folder = mounted('size=256k')!;
    const lines = linesOfStderr();
    const path = join(folder, 'figures.json');
    const publisher = new FiguresPublisher(path, { RANK: '1', WORLD_SIZE: '2' });
    const steps = () => parseFigures(readFileSync(path, 'utf8'))!.total.steps;
    publisher.begin();
    publisher.step(8);
    publisher.publish();
    await vi.waitFor(() => {
      expect(steps()).toBe(1);
    });
    const free = fill(folder);
    publisher.step(8);
    publisher.publish();
    await vi.waitFor(() => {
      expect(lines).toHaveLength(1);
    });
    publisher.endNow();
    expect(steps()).toBe(1);
    free();
    publisher.step(8);
    publisher.publish();
    await vi.waitFor(() => {
      expect(steps()).toBe(3);
      expect(lines).toHaveLength(2);
    });
    expect(readdirSync(folder)).toEqual(['figures.json']);
    expect(lines).toEqual([
      expect.stringMatching(
        /^ringrun: rank 1 cannot write its figures .*ENOSPC.*until they can be written\.\n$/,
      ),
      'ringrun: rank 1 writes its figures for the dashboard again.\n',
    ]);
  },
);
