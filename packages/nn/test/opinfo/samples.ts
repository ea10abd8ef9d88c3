import { spawnSync } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '../../../../test/support/environment.ts';
import { python as defaultPython } from '../../../../test/support/torch-problem.ts';
import type { Sample } from './sample.ts';

/** A Python with a newer torch than Debian's. */
const python = process.env['RINGRUN_TORCH_PYTHON'] ?? defaultPython;

/** The reason why torch's samples are missing on this machine; undefined if they are present. */
export function samplesProblem(): string | undefined {
  const program = [
    'import torch',
    'assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)',
    'from torch.testing._internal import common_methods_invocations, common_modules, common_optimizers',
  ].join('\n');
  const { status } = spawnSync(python, ['-c', program], { env: environmentWith({}) });
  return status === 0 ? undefined : `${python} has no torch of 2.9 or newer with its testing modules`;
}

const script = fileURLToPath(new URL('../../../../test/golden/opinfo.py', import.meta.url));

/** torch's samples of operations, modules and optimizers, in temporary files. */
export class Samples {
  readonly #folder = mkdtempSync(join(tmpdir(), 'ringrun-opinfo-'));
  readonly #names: readonly string[];

  /** The version of torch. */
  readonly torch: string;

  /**
   * @param few number of samples of each kind. Default: all.
   * @param kind 'bfloat16': samples of operations in bfloat16 alone; 'second': float32 samples, whose gradients are second
   *   derivatives. Default: samples of all other dtypes.
   */
  constructor(names: readonly string[], few = Number.MAX_SAFE_INTEGER, kind?: 'bfloat16' | 'second') {
    this.#names = names;
    const args = [script, this.#folder, String(few), ...(kind === undefined ? [] : [kind])];
    const options = { input: JSON.stringify(names), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(python, args, options);
    if (status !== 0) throw new Error(`opinfo.py: ${stderr}`);
    this.torch = stdout.trim();
  }

  async *of(name: string): AsyncGenerator<Sample> {
    const file = join(this.#folder, `${this.#names.indexOf(name)}.jsonl`);
    for await (const line of createInterface({ input: createReadStream(file) }))
      yield JSON.parse(line) as Sample;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
