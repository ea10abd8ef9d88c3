/**
 * Kubeflow Trainer's server for the progress of a TrainJob, from the environment that the operator sets in
 * the pod.
 */
export interface TrainerServer {
  url: string;
  /** Files: the CA certificate of the server, and a token, which Kubernetes rotates. */
  certificateFile: string;
  tokenFile: string;
}

/** Returns undefined unless all three variables are set. */
export function trainerServerIn(env: NodeJS.ProcessEnv): TrainerServer | undefined {
  const url = env['KUBEFLOW_TRAINER_SERVER_URL'];
  const certificateFile = env['KUBEFLOW_TRAINER_SERVER_CA_CERT'];
  const tokenFile = env['KUBEFLOW_TRAINER_SERVER_TOKEN'];
  return url && certificateFile && tokenFile ? { url, certificateFile, tokenFile } : undefined;
}
