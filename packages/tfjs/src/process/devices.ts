/** What of the environment decides on GPUs. */
export type DevicesEnvironment = Readonly<
  Partial<Record<'LOCAL_RANK' | 'LOCAL_WORLD_SIZE' | 'CUDA_VISIBLE_DEVICES', string>>
>;

/**
 * The CUDA_VISIBLE_DEVICES of this rank: the GPU at its LOCAL_RANK among those that its host shows, so that each process has one. Undefined where nothing is to be changed: without a
 * launcher, and where a single one (or none, '' or -1) is shown, which somebody has chosen.
 */
export function ownDevice({ LOCAL_RANK, CUDA_VISIBLE_DEVICES }: DevicesEnvironment): string | undefined {
  if (LOCAL_RANK === undefined) return undefined;
  if (CUDA_VISIBLE_DEVICES === undefined) return LOCAL_RANK;
  const shown = CUDA_VISIBLE_DEVICES.split(',');
  return shown.length === 1 ? undefined : shown[Number(LOCAL_RANK)];
}

/** Why this rank, whose process was prepared, has no GPU of its own, in words; undefined where it has, or somebody has chosen one for it. */
export function devicesProblem(environment: DevicesEnvironment): string | undefined {
  const { LOCAL_RANK, LOCAL_WORLD_SIZE, CUDA_VISIBLE_DEVICES } = environment;
  const shown = CUDA_VISIBLE_DEVICES?.split(',');
  if (LOCAL_RANK === undefined || shown?.length === 1) return undefined;
  const shows =
    shown === undefined
      ? 'all GPUs are shown'
      : `CUDA_VISIBLE_DEVICES=${shown.join()} shows ${shown.length} GPUs`;
  return (
    `${shows} to local rank ${LOCAL_RANK} of ${LOCAL_WORLD_SIZE ?? '?'}, which needs one of its own. ` +
    (shown === undefined || Number(LOCAL_RANK) < shown.length
      ? 'Import @ringrun/tfjs before @tensorflow/tfjs-node-gpu, which looks for GPUs when it is loaded.'
      : `Start at most ${shown.length} processes on this host (--nproc-per-node ${shown.length}).`)
  );
}
