/**
 * Adds torchrun's own variables for a program that may be a PyTorch script: torch and scripts read them
 * (`torch.distributed.is_torchelastic_launched`, `@record`).
 *
 * @param env The worker's environment so far.
 */
export function withTorchrunVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    // NCCL reports an error instead of hanging, as under torchrun.
    TORCH_NCCL_ASYNC_ERROR_HANDLING: '1',
    NCCL_ASYNC_ERROR_HANDLING: '1',
    ...env,
    TORCHELASTIC_RUN_ID: env['RINGRUN_RUN_ID'],
    TORCHELASTIC_RESTART_COUNT: env['RINGRUN_RESTART_COUNT'],
    TORCHELASTIC_MAX_RESTARTS: env['RINGRUN_MAX_RESTARTS'],
    TORCHELASTIC_ERROR_FILE: env['RINGRUN_ERROR_FILE'],
    // The launcher's store is not a torch TCPStore: rank 0 serves one at MASTER_PORT, which is free.
    TORCHELASTIC_USE_AGENT_STORE: 'False',
  };
}
