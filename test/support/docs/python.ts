import { spawnSync } from 'node:child_process';
import { environmentWith } from '../environment.ts';
import { python as ofDebian } from '../torch-problem.ts';

/** A Python with the PyTorch of the pages (RINGRUN_TORCH_PYTHON or Debian's), or the reason why it has none. */
export function pythonWithTorch(): { python: string; problem: string | undefined } {
  const python = process.env['RINGRUN_TORCH_PYTHON'] ?? ofDebian;
  const program = 'import torch, onnx; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)';
  const { status } = spawnSync(python, ['-c', program], { env: environmentWith({}) });
  const problem = `${python} has no torch ≥ 2.9 with onnx; RINGRUN_TORCH_PYTHON selects another Python`;
  return { python, problem: status === 0 ? undefined : problem };
}
