import { spawnSync } from 'node:child_process';
import { environmentWith } from './environment.ts';

/** Why PyTorch scripts cannot be run here; undefined where they can. It looks at the machine and at nothing of ours. */
export function torchProblem(): string | undefined {
  const program = 'import torch.distributed as d; assert d.is_available() and d.is_gloo_available';
  const { status, error } = spawnSync(python, ['-c', program], { env: environmentWith({}) });
  return status === 0
    ? undefined
    : `${python} has no torch with gloo (package python3-torch)${error ? `: ${error.message}` : ''}`;
}

/** Debian's, for which its package python3-torch is. */
export const python = '/usr/bin/python3';
