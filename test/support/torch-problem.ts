import { spawnSync } from 'node:child_process';
import { environmentWith } from './environment.ts';

/** Why this machine cannot run PyTorch scripts; undefined if it can. */
export function torchProblem(): string | undefined {
  const program = 'import torch.distributed as d; assert d.is_available() and d.is_gloo_available';
  const { status, error } = spawnSync(python, ['-c', program], { env: environmentWith({}) });
  return status === 0
    ? undefined
    : `${python} has no torch with gloo (package python3-torch)${error ? `: ${error.message}` : ''}`;
}

/** Debian's Python, which the package python3-torch extends. */
export const python = '/usr/bin/python3';
