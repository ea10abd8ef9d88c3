/**
 * What torchrun's workers see beside the variables that workers of any launcher have, for a program that may be a PyTorch script: torch and scripts
 * look for them (`torch.distributed.is_torchelastic_launched`, `@record`).
 *
 * @param env The worker's environment so far.
 */
export function withTorchrunVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    // From a hang of NCCL to an error, as torchrun has it.
    TORCH_NCCL_ASYNC_ERROR_HANDLING: '1',
    NCCL_ASYNC_ERROR_HANDLING: '1',
    ...env,
    TORCHELASTIC_RUN_ID: env['RINGRUN_RUN_ID'],
    TORCHELASTIC_RESTART_COUNT: env['RINGRUN_RESTART_COUNT'],
    TORCHELASTIC_MAX_RESTARTS: env['RINGRUN_MAX_RESTARTS'],
    TORCHELASTIC_ERROR_FILE: env['RINGRUN_ERROR_FILE'],
    // The launcher's store speaks another protocol than torch's: rank 0 hosts one at MASTER_PORT, which is free for it.
    TORCHELASTIC_USE_AGENT_STORE: 'False',
  };
}
