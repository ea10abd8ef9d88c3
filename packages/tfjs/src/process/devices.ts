export type DevicesEnvironment = Readonly<
  Partial<Record<'LOCAL_RANK' | 'LOCAL_WORLD_SIZE' | 'CUDA_VISIBLE_DEVICES', string>>
>;

/**
 * CUDA_VISIBLE_DEVICES for this rank: the visible GPU at index LOCAL_RANK, so that each process uses its own. Undefined
 * (no change) without a launcher, or if CUDA_VISIBLE_DEVICES already selects one GPU or none ('' or -1).
 */
export function ownDevice({ LOCAL_RANK, CUDA_VISIBLE_DEVICES }: DevicesEnvironment): string | undefined {
  if (LOCAL_RANK === undefined) return undefined;
  if (CUDA_VISIBLE_DEVICES === undefined) return LOCAL_RANK;
  const shown = CUDA_VISIBLE_DEVICES.split(',');
  return shown.length === 1 ? undefined : shown[Number(LOCAL_RANK)];
}

/** Describes why this rank does not have its own GPU after `prepareProcess`; undefined if it has one. */
export function devicesProblem(environment: DevicesEnvironment): string | undefined {
  const { LOCAL_RANK, LOCAL_WORLD_SIZE, CUDA_VISIBLE_DEVICES } = environment;
  const shown = CUDA_VISIBLE_DEVICES?.split(',');
  if (LOCAL_RANK === undefined || shown?.length === 1) return undefined;
  const shows =
    shown === undefined
      ? 'all GPUs are visible'
      : `CUDA_VISIBLE_DEVICES=${shown.join()} makes ${shown.length} GPUs visible`;
  return (
    `${shows} to local rank ${LOCAL_RANK} of ${LOCAL_WORLD_SIZE ?? '?'}, which needs its own GPU. ` +
    (shown === undefined || Number(LOCAL_RANK) < shown.length
      ? 'Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu, which detects GPUs when it is loaded.'
      : `Start at most ${shown.length} processes on this host (--nproc-per-node ${shown.length}).`)
  );
}
