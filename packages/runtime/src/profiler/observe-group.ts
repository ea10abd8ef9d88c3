import { collectiveNames, DeviceTensor, recordActivity } from '@ringrun/core';
import type { ProcessGroup, Work } from '@ringrun/core';

type Method = (this: ProcessGroup, ...args: unknown[]) => unknown;

/**
 * Records every operation of the group until the returned function is called. It wraps the group's methods
 * for that time, so an unobserved group has no overhead.
 */
export function observeGroup(group: ProcessGroup): () => void {
  const methods = group as unknown as Record<string, Method>;
  const covered = [
    ...collectiveNames.flatMap((name) => [
      cover(methods, name, name, settled),
      cover(methods, `${name}Sync`, name, returned),
    ]),
    ...(!('allReduceQuantized' in methods)
      ? []
      : [
          cover(methods, 'allReduceQuantized', 'allReduceQuantized', settled),
          cover(methods, 'allReduceQuantizedSync', 'allReduceQuantized', returned),
        ]),
    // `send` and `recv` call these.
    cover(methods, 'isend', 'send', workDone),
    cover(methods, 'irecv', 'recv', workDone),
    cover(methods, 'sendSync', 'send', returned),
    cover(methods, 'recvSync', 'recv', returned),
  ];
  return () => {
    for (const uncover of covered) uncover();
  };
}

/** Calls `ended` when the operation of a method's return value is complete. */
type Ending = (result: unknown, ended: () => void) => void;

const returned: Ending = (_, ended) => {
  ended();
};

const settled: Ending = (result, ended) => {
  (result as Promise<unknown>).then(ended, ended);
};

const workDone: Ending = (result, ended) => {
  settled((result as Work<unknown>).wait(), ended);
};

/** The original method is on the prototype, so deleting the wrapper restores it. */
function cover(methods: Record<string, Method>, method: string, name: string, whenOver: Ending): () => void {
  const original = methods[method];
  methods[method] = function (...args) {
    const startedAt = performance.now();
    const result = original.apply(this, args);
    whenOver(result, () => {
      recordActivity('communication', name, startedAt, performance.now(), detailsOf(this, args));
    });
    return result;
  };
  return () => {
    Reflect.deleteProperty(methods, method);
  };
}

function detailsOf({ size }: ProcessGroup, args: readonly unknown[]): Record<string, number> {
  const bytes = Math.max(...args.map(bytesOf));
  return bytes > 0 ? { bytes, ranks: size } : { ranks: size };
}

/** Bytes of a tensor or a list of tensors; for an exchange, those of the larger side. */
function bytesOf(argument: unknown): number {
  if (ArrayBuffer.isView(argument) || argument instanceof DeviceTensor) return argument.byteLength;
  if (!Array.isArray(argument)) return 0;
  return argument.reduce((sum: number, one: unknown) => sum + bytesOf(one), 0);
}
