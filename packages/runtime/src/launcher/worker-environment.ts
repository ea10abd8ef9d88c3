/** What the workers of one job have in common. */
export interface JobSettings {
  runId: string;
  /** ROLE_NAME. */
  role: string;
  masterAddress: string;
  masterPort: number;
  /** `tcp://host:port` of the store that the launcher hosts. */
  storeEndpoint: string;
  processesPerNode: number;
  /** CPUs that all workers of this node share. */
  usableCpus: number;
}

/** CPUs that each worker of this node can keep busy; 1 when there are more workers than CPUs. */
export function cpusPerWorker({ usableCpus, processesPerNode }: JobSettings): number {
  return Math.max(1, Math.floor(usableCpus / processesPerNode));
}

/**
 * Environment of the worker `localRank`: the launcher's own, and what torchrun's workers see.
 *
 * OMP_NUM_THREADS stays as the user set it; otherwise the workers share the CPUs, because libraries that start a thread per
 * CPU in every worker slow each other down.
 *
 * @param errorFile Where the worker leaves the record of an error; undefined: nowhere.
 */
export function workerEnvironment(
  job: JobSettings,
  localRank: number,
  errorFile: string | undefined,
  inherited: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const worldSize = String(job.processesPerNode);
  const rank = String(localRank);
  return {
    OMP_NUM_THREADS: String(cpusPerWorker(job)),
    ...inherited,
    RANK: rank,
    LOCAL_RANK: rank,
    GROUP_RANK: '0',
    ROLE_RANK: rank,
    ROLE_NAME: job.role,
    WORLD_SIZE: worldSize,
    LOCAL_WORLD_SIZE: worldSize,
    GROUP_WORLD_SIZE: '1',
    ROLE_WORLD_SIZE: worldSize,
    MASTER_ADDR: job.masterAddress,
    MASTER_PORT: String(job.masterPort),
    RINGRUN_RUN_ID: job.runId,
    RINGRUN_RESTART_COUNT: '0',
    RINGRUN_MAX_RESTARTS: '0',
    RINGRUN_STORE: job.storeEndpoint,
    RINGRUN_ERROR_FILE: errorFile,
  };
}
