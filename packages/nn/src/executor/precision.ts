import { invalidateRecordedCalls } from '@ringrun/core';
import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOneOf } from '../checks/require-one-of.ts';

/** How products of float32 matrices are computed on a GPU: see `setFloat32MatmulPrecision`. */
export type Float32MatmulPrecision = 'highest' | 'high' | 'medium';

/** How libraries compute. */
export interface LibrarySettings {
  /** Where float32 factors may be rounded to TF32. */
  readonly tf32: { readonly products: boolean; readonly convolutions: boolean };
  /** True if algorithms of convolutions are chosen by trying them. */
  readonly benchmark: boolean;
}

let precision: Float32MatmulPrecision = 'highest';
let convolutions = true;
let benchmark = false;

/** The present settings. Programs that were compiled with other ones are not used again. */
export function librarySettings(): LibrarySettings {
  return { tf32: { products: precision !== 'highest', convolutions }, benchmark };
}

/**
 * Sets how products of float32 matrices are computed on a GPU (torch.set_float32_matmul_precision). Default: `highest`, as in
 * torch. It changes neither convolutions (`backends.cudnn.allowTf32`) nor results on the CPU. The next runs compile again.
 *
 * @param given `highest`: in float32. `high` and `medium`: tensor cores may round factors to TF32, which has 10 bits of mantissa
 * instead of 23; sums are float32.
 * @throws ArgumentError for another precision
 */
export function setFloat32MatmulPrecision(given: Float32MatmulPrecision): void {
  requireOneOf('setFloat32MatmulPrecision', 'precision', given, ['highest', 'high', 'medium']);
  precision = given;
  invalidateRecordedCalls();
}

/** The argument of the last `setFloat32MatmulPrecision` (torch.get_float32_matmul_precision). */
export function getFloat32MatmulPrecision(): Float32MatmulPrecision {
  return precision;
}

/** Settings of products of matrices on a GPU (torch.backends.cuda.matmul). */
export interface MatmulSettings {
  /** True unless the precision of `setFloat32MatmulPrecision` is `highest`; `true` sets `high`. Default: false. */
  allowTf32: boolean;
}

/** Settings of cuDNN (torch.backends.cudnn). */
export interface CudnnSettings {
  /**
   * True if convolutions of float32 on a GPU may round their factors to TF32 (torch.backends.cudnn.allow_tf32). Default: true,
   * as in torch. The next runs compile again.
   */
  allowTf32: boolean;
  /**
   * True if the algorithms of convolutions on a GPU are chosen by trying them when a program is compiled, which takes longer, instead
   * of by cuDNN's heuristic (torch.backends.cudnn.benchmark). Only algorithms with the same results in every run are tried, but
   * which one is the fastest may differ between runs, so results may differ in their last bits. Default: false, as in torch. The
   * next runs compile again.
   */
  benchmark: boolean;
}

/** Settings of the libraries that compute (torch.backends). */
export interface Backends {
  /** GPUs of NVIDIA. */
  readonly cuda: {
    /** Products of matrices. */
    readonly matmul: MatmulSettings;
  };
  /** Convolutions. */
  readonly cudnn: CudnnSettings;
}

/** Settings of the libraries that compute (torch.backends). */
export const backends: Backends = {
  cuda: {
    matmul: {
      get allowTf32(): boolean {
        return precision !== 'highest';
      },
      set allowTf32(allowed: boolean) {
        requireBoolean('backends.cuda.matmul.allowTf32', allowed);
        setFloat32MatmulPrecision(allowed ? 'high' : 'highest');
      },
    },
  },
  cudnn: {
    get allowTf32(): boolean {
      return convolutions;
    },
    set allowTf32(allowed: boolean) {
      requireBoolean('backends.cudnn.allowTf32', allowed);
      convolutions = allowed;
      invalidateRecordedCalls();
    },
    get benchmark(): boolean {
      return benchmark;
    },
    set benchmark(tries: boolean) {
      requireBoolean('backends.cudnn.benchmark', tries);
      benchmark = tries;
      invalidateRecordedCalls();
    },
  },
};
