import { expect, test } from 'vitest';
import { UNet } from '@ringrun/examples-segmentation';
import { tensor } from '@ringrun/nn';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { isFull } from './support/extent.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

type Values = Record<'encoder' | 'decoder' | 'statistics', number[]>;

test('a frozen encoder keeps its bits on two ranks, and moves at its own rate after unfreezing', async () => {
  const scenarios = new Scenarios(builtScript('segmentation.script'), temporaryFolder());
  type Trained = Record<'start' | 'frozen' | 'unfrozen', Values>;
  const [first, second] = await scenarios.run<Trained>(2, 'unfreeze');
  const { start, frozen, unfrozen } = first;
  for (const step of ['frozen', 'unfrozen'] as const)
    for (const part of ['encoder', 'decoder'] as const) expect(first[step][part]).toEqual(second[step][part]);
  expect(frozen.encoder).toEqual(start.encoder);
  expect(frozen.statistics).toEqual(start.statistics);
  const decoderMoved = largestDifference(frozen.decoder, start.decoder);
  expect(decoderMoved).toBeGreaterThan(1e-3);
  expect(unfrozen.statistics).not.toEqual(start.statistics);
  const encoderMoved = largestDifference(unfrozen.encoder, frozen.encoder);
  expect(encoderMoved).toBeGreaterThan(1e-7);
  expect(encoderMoved).toBeLessThan(largestDifference(unfrozen.decoder, frozen.decoder) / 10);
});

test('the encoder has the names and shapes of torchvision', () => {
  const keys = (name: 'resnet18' | 'resnet34') => {
    const { encoder } = new UNet({ encoder: name, numClasses: 2, width: 8 });
    return new Map(Array.from(encoder.stateDict(), ([key, { shape }]) => [key, shape]));
  };
  const small = keys('resnet18');
  expect(small.get('conv1.weight')).toEqual([8, 3, 7, 7]);
  expect(small.get('layer4.0.downsample.0.weight')).toEqual([64, 32, 1, 1]);
  expect(small.get('layer4.1.bn2.running_var')).toEqual([64]);
  // torchvision's 122 and 218 entries without fc.weight and fc.bias.
  expect(small.size).toBe(120);
  expect(keys('resnet34').size).toBe(216);
});

test('scores have the size of the images', async () => {
  const scores = new UNet({ encoder: 'resnet18', numClasses: 3, width: 4 }).eval();
  const output = scores.forward(tensor(new Float32Array(2 * 3 * 32 * 64).fill(0.5), [2, 3, 32, 64]));
  expect(output.shape).toEqual([2, 3, 32, 64]);
  expect((await output.array()).every((one) => Number.isFinite(Number(one)))).toBe(true);
});

test('the example learns to segment shapes on two ranks', async () => {
  const script = 'packages/examples-segmentation/train.ts';
  const short = isFull ? [] : ['--epochs', '2'];
  const { stdout, ...ended } = withoutWaiting(await launch(['--nproc', '2', script, ...short]).ended);
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  const found = /^pixel accuracy (\d\.\d{4}), IoU (\d\.\d{4}), Dice (\d\.\d{4})$/m.exec(stdout);
  const [accuracy, iou, dice] = (found ?? []).slice(1).map(Number);
  const least = isFull ? 0.8 : 0.6;
  expect(iou).toBeGreaterThan(least);
  expect(accuracy).toBeGreaterThan(iou);
  expect(dice).toBeGreaterThan(least);
});
