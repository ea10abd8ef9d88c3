import { integerFrom, numberFrom0 } from '@ringrun/examples-common';
import { Option, type Command } from 'commander';
import type { DiLoCoOptions, Transport } from 'ringrun';

/** How the ranks of a training stay together. */
export interface SyncSettings {
  sync: 'ddp' | 'diloco';
  innerSteps: number;
  warmupSteps: number;
  outerLr?: number;
  outerMomentum?: number;
  fragments: number;
  overlapSteps?: number;
  alpha?: number;
  transport: Transport;
}

export function addSyncOptions(command: Command): void {
  const transports = ['float32', 'bf16', 'int8', 'int4'];
  const sync = new Option(
    '--sync <way>',
    'average gradients in every step, or exchange parameters now and then',
  );
  command
    .addOption(sync.choices(['ddp', 'diloco']).default('ddp'))
    .option('--inner-steps <n>', 'with diloco: steps between two exchanges', integerFrom(1), 100)
    .option('--warmup-steps <n>', 'with diloco: first steps, which average gradients', integerFrom(0), 0)
    .option('--outer-lr <rate>', 'with diloco: learning rate of the outer steps (default: 0.7)', numberFrom0)
    .option('--outer-momentum <fraction>', 'with diloco: their momentum (default: 0.9)', numberFrom0)
    .option('--fragments <n>', 'with diloco: parts that are exchanged in turn', integerFrom(1), 1)
    .option(
      '--overlap-steps <n>',
      'with diloco: steps during an exchange (default: by --fragments)',
      integerFrom(0),
    )
    .option(
      '--alpha <share>',
      'with diloco: share of own parameters in the mix (default: by --overlap-steps)',
      numberFrom0,
    )
    .addOption(
      new Option('--transport <form>', 'with diloco: form of what is sent')
        .choices(transports)
        .default('float32'),
    );
}

export function syncOf({
  sync,
  outerLr: lr,
  outerMomentum: momentum,
  innerSteps,
  warmupSteps,
  fragments,
  overlapSteps,
  alpha,
  transport,
}: SyncSettings): { diloco?: DiLoCoOptions } {
  if (sync === 'ddp') return {};
  const outer = { ...(lr !== undefined && { lr }), ...(momentum !== undefined && { momentum }) };
  return {
    diloco: {
      ...{ innerSteps, warmupSteps, fragments, transport, outer },
      ...(overlapSteps !== undefined && { overlapSteps }),
      ...(alpha !== undefined && { alpha }),
    },
  };
}
