import { quantizedBytes } from '@ringrun/collectives';
import type { Hook, PlanOptions } from './options.ts';

/** How an array is exchanged between ranks. */
export type Transport = 'float32' | 'bf16' | 'int8' | 'int4' | 'powersgd';

/** A way to train. */
export interface Way {
  name: string;
  transport: Transport;
  /** Undefined: gradients are averaged in every step (DDP). */
  local?: {
    innerSteps: number;
    fragments: number;
    /** Steps that are computed while a fragment is exchanged. */
    overlapSteps: number;
  };
}

/**
 * torch's PowerSGD sends 2 r m numbers instead of m² of a square matrix: with rank 1 and m = 1024. Real models have
 * other shapes.
 */
const powerSgdShare = 2 / 1024;

const ofHook: Readonly<Record<Hook, Transport>> = {
  none: 'float32',
  bf16: 'bf16',
  int8: 'int8',
  int4: 'int4',
  powersgd: 'powersgd',
};

/** Bytes that stand for `bytes` of float32. */
export function transportBytes(transport: Transport, bytes: number): number {
  switch (transport) {
    case 'float32':
      return bytes;
    case 'bf16':
      return bytes / 2;
    case 'int8':
      return quantizedBytes(8, bytes);
    case 'int4':
      return quantizedBytes(4, bytes);
    case 'powersgd':
      return bytes * powerSgdShare;
  }
}

type Compared = Pick<PlanOptions, 'hooks' | 'innerSteps' | 'fragments'>;

/** All ways that are compared, in the order of the table. */
export function waysOf({ hooks, innerSteps, fragments }: Compared): Way[] {
  const withHooks = hooks.map((hook): Way => {
    return { name: hook === 'none' ? 'DDP' : `DDP, ${hook}`, transport: ofHook[hook] };
  });
  const transports = ['float32', 'int8', 'int4'] as const;
  const local = innerSteps.flatMap((steps) => {
    const whole = transports.map((transport): Way => {
      const name = `DiLoCo, ${steps} steps, ${transport}`;
      return { name, transport, local: { innerSteps: steps, fragments: 1, overlapSteps: 0 } };
    });
    if (fragments === 1) return whole;
    // The default of DiLoCo.
    const overlapSteps = Math.floor(steps / fragments / 2);
    const streaming = transports.map((transport): Way => {
      const name = `DiLoCo, ${steps} steps, ${fragments} fragments, ${transport}`;
      return { name, transport, local: { innerSteps: steps, fragments, overlapSteps } };
    });
    return [...whole, ...streaming];
  });
  return [...withHooks, ...local];
}
