/** Where Kubeflow Trainer takes the progress of a TrainJob, as the operator says it in the pod's environment. */
export interface TrainerServer {
  url: string;
  /** Files: the certificate that the server's is signed by, and a token that is replaced from time to time. */
  certificateFile: string;
  tokenFile: string;
}

/** Undefined unless all three variables are set. */
export function trainerServerIn(env: NodeJS.ProcessEnv): TrainerServer | undefined {
  const url = env['KUBEFLOW_TRAINER_SERVER_URL'];
  const certificateFile = env['KUBEFLOW_TRAINER_SERVER_CA_CERT'];
  const tokenFile = env['KUBEFLOW_TRAINER_SERVER_TOKEN'];
  return url && certificateFile && tokenFile ? { url, certificateFile, tokenFile } : undefined;
}
